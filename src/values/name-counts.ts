/** Counts how often each name occurs. The order of first appearance is kept. */
export function nameCounts(names: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]));
}
