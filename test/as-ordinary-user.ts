/**
 * Before a command and its arguments: takes from root that it may read and write everything. Another user would do only where that
 * one can reach the clone, which may lie in a folder of root's.
 */
export const asOrdinaryUser: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
