/** Counts how often each name occurs. Keeps the order of first appearance. */
export function nameCounts(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]));
}
