
"use strict";
for (const table of document.querySelectorAll("table:has(thead)")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], first = [...body.rows];
  if (first.length < 2 || !table.tHead.textContent.trim()) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    if (!button.textContent.trim()) button.setAttribute("aria-label", "sort by this column");
    head.append(button);
    button.addEventListener("click", () => {
      const turn = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] || "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (turn !== "none") head.setAttribute("aria-sort", turn);
      const text = (row) => row.cells[column].textContent.trim();
      const value = (row) => parseFloat(text(row).replace(/[,\s]/g, "").replace("−", "-"));
      const empty = (row) => /^[–-]?$/.test(text(row));
      const known = first.filter((row) => !empty(row)), numbers = known.every((row) => !isNaN(value(row)));
      const by = (a, b) => (numbers ? value(a) - value(b) : text(a).localeCompare(text(b), "en", { numeric: true }));
      const sorted = turn === "none" ? first : [...known.sort((a, b) => (turn === "ascending" ? by(a, b) : by(b, a))), ...first.filter(empty)];
      body.append(...sorted);
    });
  });
}
