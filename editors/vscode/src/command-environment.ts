type Environment = Readonly<Record<string, string | undefined>>;

/** Needed to find folders of the user. */
const HARMLESS = ['HOME', 'USERPROFILE', 'LOCALAPPDATA', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR', 'XDG_CACHE_HOME'];

/** The environment of the command, which runs on the editor's own Node. In a folder that is not trusted, variables may be secrets. */
export function commandEnvironment(
  own: Environment,
  { isTrusted }: { readonly isTrusted: boolean },
): Record<string, string> {
  const names = isTrusted ? Object.keys(own) : HARMLESS;
  const taken = names.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]));
  return {
    ...Object.fromEntries(taken),
    ELECTRON_RUN_AS_NODE: '1',
  };
}
