// On every page: the colour switch, and "/" for the search.
"use strict";
(() => {
  const root = document.documentElement, site = document.querySelector("nav.site"), b = document.createElement("button");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => {
    b.textContent = dark() ? "Light" : "Dark";
    b.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`);
  };
  b.id = "theme";
  b.type = "button";
  label();
  b.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("dpfl-theme", root.dataset.theme) } catch (e) { /* not stored; the page works as usual */ }
    label();
  });
  site.append(b);
  document.addEventListener("keydown", event => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    const search = document.getElementById("search");
    if (search) search.focus(); else location.href = `${site.dataset.search}#search`;
  });
})();
