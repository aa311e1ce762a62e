type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that locate the user's folders. They never contain secrets. */
const HARMLESS = ['HOME', 'USERPROFILE', 'LOCALAPPDATA', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR', 'XDG_CACHE_HOME'];

/** Returns the environment for voxform on the editor's own Node. For an untrusted folder, it contains only harmless variables. */
export function commandEnvironment(
  own: Environment,
  { isTrusted }: { readonly isTrusted: boolean },
): Record<string, string> {
  const names = isTrusted ? Object.keys(own) : HARMLESS;
  const variables = names.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]));
  return {
    ...Object.fromEntries(variables),
    ELECTRON_RUN_AS_NODE: '1',
  };
}
