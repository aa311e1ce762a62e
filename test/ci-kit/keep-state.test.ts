import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Repository } from './repository.ts';
import { root } from './workflow.ts';

const STATE = '.voxform/a.state.json';

it('pushes the state over what others pushed beside it, and never over another state', () => {
  using repository = new Repository({ [STATE]: '1\n', 'README.md': 'words\n' });
  const job = mkdtempSync(path.join(repository.folder, 'job-'));
  repository.git(['clone', '-q', repository.origin, '.'], job);
  const keep = (text: string) => {
    writeFileSync(path.join(job, STATE), text);
    writeFileSync(path.join(job, '.voxform/a.history.jsonl'), `run of ${text}`);
    const args = [path.join(root, 'ci/keep-state.sh'), '.voxform', 'main'];
    const { status, stderr } = spawnSync('sh', args, { cwd: job, env: repository.env, encoding: 'utf8' });
    return { status, stderr };
  };
  const others = (file: string, text: string) => {
    repository.git(['pull', '-q', '--rebase', 'origin', 'main']);
    repository.commit({ [file]: text });
    repository.git(['push', '-q', 'origin', 'main']);
  };

  expect(keep('1\n')).toEqual({ status: 0, stderr: 'state unchanged\n' });
  others('README.md', 'other words\n');
  expect(keep('2\n').status).toBe(0);
  expect(repository.git(['log', '-1', '--format=%s', 'main'], repository.origin)).toBe(
    'Update voxform state [skip ci]',
  );
  expect([repository.onMain(STATE), repository.onMain('README.md')]).toEqual(['2', 'other words']);

  others(STATE, '3\n');
  const refused = keep('4\n');
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain('another run changed the state on main');
  expect(refused.stderr).toContain('\n+4\n');
  expect(repository.onMain(STATE)).toBe('3');
  expect(repository.git(['ls-tree', '--name-only', 'main', '.voxform/'], repository.origin)).toBe(STATE);
});
