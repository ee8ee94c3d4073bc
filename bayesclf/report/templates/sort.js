"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = heading.querySelector("button");
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
      };
      const body = table.tBodies[0];
      const rows = [...body.rows];
      const last = rows.filter((row) => "last" in row.dataset);
      const sorted = rows.filter((row) => !("last" in row.dataset));
      sorted.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        const empty = (x === "") - (y === "");
        if (empty) return empty;
        const order = typeof x === "number" && typeof y === "number"
          ? (x === y ? 0 : x - y)
          : String(x).localeCompare(String(y), undefined, {numeric: true});
        return up ? order : -order;
      });
      body.append(...sorted, ...last);
    });
  });
}
