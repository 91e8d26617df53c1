// Narrows the index to the places that have all words that are asked; those with the words in their names come first.
"use strict";
(() => {
  const form = document.getElementById("find"), search = document.getElementById("search");
  const list = document.getElementById("places"), told = document.getElementById("found"), rows = [...list.children];
  const known = rows.map(row => {
    const name = row.firstElementChild.textContent.toLowerCase();
    return { row, name, all: `${row.textContent} ${row.dataset.words || ""}`.toLowerCase() };
  });
  const rank = (name, words) => name === words.join(" ") ? 0 : name.startsWith(words[0]) ? 1 : words.every(w => name.includes(w)) ? 2 : 3;
  const show = keep => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = words.length ? known.filter(k => words.every(w => k.all.includes(w))) : [];
    const found = fits.map((k, i) => [rank(k.name, words), i, k.row]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const row of rows) row.hidden = true;
    for (const [, , row] of found) row.hidden = false;
    list.append(...found.map(f => f[2]));
    told.textContent = words.length ? `${found.length} of ${rows.length} places` : `${rows.length} places`;
    if (keep === false) return;
    const query = search.value ? `?${new URLSearchParams({ q: search.value })}` : "";
    try { history.replaceState(null, "", `${location.pathname}${query}`) } catch (e) { /* the address stays */ }
  };
  const links = () => [...list.querySelectorAll("li:not([hidden]) a")];
  form.addEventListener("input", show);
  form.addEventListener("submit", event => {
    event.preventDefault();
    if (links()[0]) links()[0].focus();
  });
  document.addEventListener("keydown", event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], at = links().indexOf(event.target);
    if (!step || (at < 0 && event.target !== search)) return;
    event.preventDefault();
    (links()[at + step] || (step < 0 ? search : event.target)).focus();
  });
  form.hidden = false;
  search.value = new URLSearchParams(location.search).get("q") || "";
  show(false);
  search.focus();
})();
