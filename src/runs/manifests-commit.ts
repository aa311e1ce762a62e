import { execFile } from 'node:child_process';

/** The commit of the manifests, with `-dirty` where files differ from it that Git tracks; undefined where they are in no repository. */
export async function commitOf(root: string): Promise<string | undefined> {
  const own = ['.', ':(exclude).voxform'];
  const [commit, same] = await Promise.all([
    git(root, ['rev-parse', '--verify', '--quiet', 'HEAD']),
    git(root, ['diff', '--quiet', 'HEAD', '--', ...own]),
  ]);
  return commit && `${commit.trim()}${same === undefined ? '-dirty' : ''}`;
}

/** What Git prints; undefined where it fails, or is not there. */
function git(folder: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('git', ['--no-optional-locks', '-C', folder, ...args], (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
}
