import path from 'node:path';

const folders = {
  /** Contains files that may be deleted at any time. */
  cache: { variable: 'XDG_CACHE_HOME', inHome: '.cache' },
  /** Contains files that must outlive a project. */
  state: { variable: 'XDG_STATE_HOME', inHome: '.local/state' },
} as const;

/** Returns voxform's folder for files of this user, or undefined if the environment defines no folder. */
export function userFolder(
  name: keyof typeof folders,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { variable, inHome } = folders[name];
  const { [variable]: own, LOCALAPPDATA: local, HOME: home } = env;
  const base = [own, local, home && path.join(home, inHome)].find(
    (folder) => folder !== undefined && path.isAbsolute(folder),
  );
  return base && path.join(base, 'voxform');
}
