import path from 'node:path';

const places = {
  /** What may be lost. */
  cache: { variable: 'XDG_CACHE_HOME', inHome: '.cache' },
  /** What must outlast a project. */
  state: { variable: 'XDG_STATE_HOME', inHome: '.local/state' },
} as const;

/** Where programs of this user keep their files; undefined where the environment names no such place. */
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
