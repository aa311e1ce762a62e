import path from 'node:path';

const places = {
  /** May be lost. */
  cache: { variable: 'XDG_CACHE_HOME', inHome: '.cache' },
  /** Must outlive a project. */
  state: { variable: 'XDG_STATE_HOME', inHome: '.local/state' },
} as const;

/** The folder for files of this user; undefined if the environment names none. */
export function userFolder(
  name: keyof typeof places,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { variable, inHome } = places[name];
  const { [variable]: own, LOCALAPPDATA: local, HOME: home } = env;
  const base = [own, local, home && path.join(home, inHome)].find(
    (folder) => folder !== undefined && path.isAbsolute(folder),
  );
  return base && path.join(base, 'voxform');
}
