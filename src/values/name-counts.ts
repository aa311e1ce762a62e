/** How often each name is there, in the order in which they come. */
export function nameCounts(names: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]),
  );
}
