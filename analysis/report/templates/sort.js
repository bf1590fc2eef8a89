for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const value = (row, i) => { const c = row.cells[i]; return c.dataset.v ?? c.textContent; };
  const compare = (a, b) => { const d = parseFloat(a) - parseFloat(b); return Number.isNaN(d) ? String(a).localeCompare(String(b)) : d; };
  const sort = (i) => {
    const sign = heads[i].getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[i].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    body.append(...[...body.rows].sort((a, b) => sign * compare(value(a, i), value(b, i))));
  };
  heads.forEach((head, i) => {
    head.tabIndex = 0;
    head.title = "sort by this column";
    head.addEventListener("click", () => sort(i));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(i); });
  });
}
