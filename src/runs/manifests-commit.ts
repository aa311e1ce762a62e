/** Milliseconds: a run waits for the answer with the lock taken. */
const PATIENCE = 5_000;

/** The commit of the manifests, with `-dirty` where files differ from it that Git tracks; undefined where they are in no repository. */
export async function commitOf(root: string): Promise<string | undefined> {
  const own = ['.', ':(exclude).voxform'];
  const [commit, diff] = await Promise.all([
    git(root, ['rev-parse', '--verify', '--quiet', 'HEAD']),
    git(root, ['diff', '--quiet', 'HEAD', '--', ...own]),
  ]);
  return commit.code === 0 ? `${commit.stdout.trim()}${diff.code === 1 ? '-dirty' : ''}` : undefined;
}

interface GitAnswer {
  /** Of the exit; something else where Git is not there or did not answer in time. */
  readonly code: unknown;
  readonly stdout: string;
}

async function git(folder: string, args: readonly string[]): Promise<GitAnswer> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    const all = ['--no-optional-locks', '-C', folder, ...args];
    execFile('git', all, { timeout: PATIENCE }, (error, stdout) =>
      resolve({ code: error === null ? 0 : error.code, stdout }),
    );
  });
}
