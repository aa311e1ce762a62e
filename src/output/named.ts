/** So many addresses are named before the rest is counted. */
const MOST = 12;

/** `Agent/a, Agent/b and 95 more (--full lists them)` */
export function named(addresses: readonly string[], full = false): string {
  const shown = full || addresses.length <= MOST + 1 ? addresses : addresses.slice(0, MOST);
  const rest = addresses.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more (--full lists them)` : ''}`;
}
