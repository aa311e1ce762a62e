/**
 * A prefix for a command: removes root's permission to read and write everything. Another user would need access to the
 * clone, which may be in a folder of root.
 */
export const asOrdinaryUser: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
