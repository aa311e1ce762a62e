/**
 * True for a host that only this machine can reach.
 * @param host a name or an address, with or without a port.
 */
export function isLoopback(host: string): boolean {
  return /^(((([\w-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?)|::1)$/i.test(host);
}
