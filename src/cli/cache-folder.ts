import path from 'node:path';

/** Where nobody but this user writes what may be lost; undefined where the environment names no such place. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { XDG_CACHE_HOME: cache, LOCALAPPDATA: local, HOME: home } = env;
  const base = [cache, local, home && path.join(home, '.cache')].find(
    (folder) => folder !== undefined && path.isAbsolute(folder),
  );
  return base && path.join(base, 'voxform');
}
