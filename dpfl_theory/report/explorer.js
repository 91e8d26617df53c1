// Search, filters and order of the table of statements. Without this script the table shows all, in the papers' order.
"use strict";
(() => {
  const form = document.getElementById("find"), table = document.getElementById("table"), body = table.tBodies[0];
  const search = document.getElementById("search"), order = form.elements.sort, told = document.getElementById("found");
  const rows = [...body.rows], columns = [...table.querySelectorAll("th[data-sort]")], of = new Map(rows.map((row, i) => [row, i]));
  const words = new Map(rows.map(row => [row, `${row.textContent} ${row.dataset.words}`.toLowerCase()]));
  const filters = ["paper", "kind", "verdict", "grade", "method", "power"].map(name => form.elements[name]);
  const KEYS = ["q", "sort", ...filters.map(f => f.name)];

  const meets = (row, filter) => {
    if (!filter.value) return true;
    if (filter.name === "power") {
      const share = row.dataset.power === "" ? Infinity : +row.dataset.power;
      return filter.value === "none" ? share === Infinity : share <= +filter.value;
    }
    return row.dataset[filter.name].split(" ").includes(filter.value);
  };
  const compare = (key, down) => (a, b) => {
    const x = a.dataset[key], y = b.dataset[key];
    if (x === y || key === "place") return of.get(a) - of.get(b);
    if (x === "" || y === "") return x === "" ? 1 : -1;   // rows without a value come last in both directions
    const numbers = key === "ratio" || key === "power" || key === "checks";
    return (numbers ? x - y : x.localeCompare(y)) * (down ? -1 : 1) || of.get(a) - of.get(b);
  };
  let drawn = "";
  const show = keep => {
    const asked = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const row of rows) {
      const fits = filters.every(f => meets(row, f)) && asked.every(word => words.get(row).includes(word));
      row.hidden = !fits;
      n += fits;
    }
    const [key, way] = order.value.split("-");
    if (drawn !== order.value) body.append(...[...rows].sort(compare(key, way === "down")));
    drawn = order.value;
    for (const th of columns) {
      th.setAttribute("aria-sort", th.dataset.sort !== key ? "none" : way === "down" ? "descending" : "ascending");
    }
    told.textContent = rows.length === 1 && n === 1 ? "1 statement" : n === rows.length ? `All ${n} statements` : `${n} of ${rows.length} statements`;
    form.classList.toggle("active", n !== rows.length || filters.some(f => f.value) || asked.length > 0);
    if (keep === false) return;
    const query = new URLSearchParams();
    for (const name of KEYS) {
      const value = form.elements[name].value;
      if (value && !(name === "sort" && value === "place-up")) query.set(name, value);
    }
    try { history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`) } catch (e) {
      /* the address stays, and the table is as requested */
    }
  };
  const take = () => {
    const query = new URLSearchParams(location.search);
    for (const name of KEYS) {
      const field = form.elements[name], value = query.get(name) || (name === "sort" ? "place-up" : "");
      if (field === search || [...field.options].some(o => o.value === value)) field.value = value;
    }
    show(false);
    if (location.hash === "#search") search.focus();
  };
  for (const th of columns) {
    th.querySelector("button").addEventListener("click", () => {
      const other = { ascending: "down", descending: "up" }[th.getAttribute("aria-sort")];
      order.value = `${th.dataset.sort}-${other || (th.dataset.sort === "ratio" ? "down" : "up")}`;
      show();
    });
  }
  form.addEventListener("input", show);
  form.addEventListener("reset", () => setTimeout(() => { show(); search.focus() }));
  form.addEventListener("submit", event => {
    event.preventDefault();
    const first = body.querySelector("tr:not([hidden]) a");
    if (first) first.focus();
  });
  const links = () => [...body.querySelectorAll("tr:not([hidden]) th a")];
  form.addEventListener("keydown", event => {
    if (event.target === search && event.key === "ArrowDown" && links()[0]) {
      event.preventDefault();
      links()[0].focus();
    }
  });
  body.addEventListener("keydown", event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], at = links().indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    (links()[at + step] || (step < 0 ? search : event.target)).focus();
  });
  form.hidden = false;
  addEventListener("popstate", take);
  take();
})();
