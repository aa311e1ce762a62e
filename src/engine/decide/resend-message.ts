/**
 * Returns the warning of an update that may erase fields. This is a separate file without imports, because `--help` loads it.
 * @param names fields of one object; the last may be a count of unnamed fields.
 */
export function resendMessage(names: readonly string[]): string {
  const [first = ''] = names;
  const named = [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ');
  return `This resends all of ${first.split('.', 1)[0]}: ${named} may be erased if set only in the dashboard.`;
}
