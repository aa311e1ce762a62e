import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFiles } from '../../src/manifests/find-files.ts';
import { asOrdinaryUser } from '../as-ordinary-user.ts';

class Folder {
  readonly root = realpathSync(mkdtempSync(path.join(tmpdir(), 'voxform-files-')));

  constructor(files: readonly string[], links: Readonly<Record<string, string>> = {}) {
    for (const file of files) {
      mkdirSync(path.dirname(path.join(this.root, file)), { recursive: true });
      writeFileSync(path.join(this.root, file), '');
    }
    for (const [link, target] of Object.entries(links)) symlinkSync(target, path.join(this.root, link));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

const DEFAULT = 'manifests/**/*.{yaml,yml,json}';

describe('files that match a pattern', () => {
  const files = [
    'manifests/b.yaml',
    'manifests/a.yml',
    'manifests/deep/er/c.json',
    'manifests/notes.md',
    'manifests/.hidden.yaml',
    'manifests/.git/d.yaml',
    'manifests/node_modules/pkg/e.yaml',
    'other/f.yaml',
    'g.yaml',
  ];

  it.each([
    {
      reason: 'at every depth',
      patterns: [DEFAULT],
      expected: ['manifests/a.yml', 'manifests/b.yaml', 'manifests/deep/er/c.json'],
    },
    { reason: 'in one folder', patterns: ['manifests/*.yaml'], expected: ['manifests/b.yaml'] },
    {
      reason: 'in a folder of any name',
      patterns: ['*/*.yaml'],
      expected: ['manifests/b.yaml', 'other/f.yaml'],
    },
    { reason: 'in the project folder', patterns: ['*.yaml'], expected: ['g.yaml'] },
    { reason: 'by exact name', patterns: ['./other/f.yaml'], expected: ['other/f.yaml'] },
    {
      reason: 'in a hidden folder with an exact name',
      patterns: ['manifests/.git/*.yaml'],
      expected: ['manifests/.git/d.yaml'],
    },
    {
      reason: 'of any name, but only YAML and JSON',
      patterns: ['manifests/**'],
      expected: ['manifests/a.yml', 'manifests/b.yaml', 'manifests/deep/er/c.json'],
    },
    {
      reason: 'once, although two patterns match',
      patterns: [DEFAULT, 'manifests/*.yaml'],
      expected: ['manifests/a.yml', 'manifests/b.yaml', 'manifests/deep/er/c.json'],
    },
    {
      reason: 'except excluded ones',
      patterns: [DEFAULT, '!manifests/deep/**'],
      expected: ['manifests/a.yml', 'manifests/b.yaml'],
    },
  ])('are found $reason', ({ patterns, expected }) => {
    using folder = new Folder(files);
    expect(findFiles(folder.root, patterns)).toEqual({ files: expected, patterns: [], entries: [] });
  });

  it.each(['../x/*.yaml', 'manifests/../../*.yaml', '/etc/*.yaml'])('are not outside: %s', (pattern) => {
    using folder = new Folder(files);
    const { files: found, patterns } = findFiles(folder.root, [pattern]);
    expect(found).toEqual([]);
    expect(patterns).toMatchObject([{ index: 0, code: 'outside-project' }]);
  });

  it.each(['none/**/*.yaml', 'manifests/*.toml', 'none.yaml'])('may be none: %s', (pattern) => {
    using folder = new Folder(files);
    expect(findFiles(folder.root, [DEFAULT, pattern]).patterns).toMatchObject([{ index: 1, code: 'no-match' }]);
  });
});

describe('symbolic link', () => {
  it('to a file or folder outside is refused, not followed', () => {
    using outside = new Folder(['secret.yaml']);
    using folder = new Folder(['manifests/a.yaml'], {
      'manifests/file.yaml': path.join(outside.root, 'secret.yaml'),
      'manifests/folder': outside.root,
      'manifests/notes.txt': path.join(outside.root, 'secret.yaml'),
    });
    const { files, entries } = findFiles(folder.root, [DEFAULT]);
    expect(files).toEqual(['manifests/a.yaml']);
    expect(entries).toMatchObject([
      { file: 'manifests/file.yaml', code: 'outside-project' },
      { file: 'manifests/folder', code: 'outside-project' },
    ]);
  });

  it('in place of the manifests folder is refused too', () => {
    using outside = new Folder(['secret.yaml']);
    using folder = new Folder([], { manifests: outside.root });
    const { files, entries } = findFiles(folder.root, [DEFAULT]);
    expect(files).toEqual([]);
    expect(entries).toMatchObject([{ file: 'manifests', code: 'outside-project' }]);
  });

  it('inside is followed, and no file is found twice', () => {
    using folder = new Folder(['manifests/z/a.yaml', 'shared/b.yaml'], {
      'manifests/a-link': 'z',
      'manifests/link.yaml': 'z/a.yaml',
      'manifests/shared': '../shared',
    });
    const { files, entries } = findFiles(folder.root, [DEFAULT]);
    expect(files).toEqual(['manifests/shared/b.yaml', 'manifests/z/a.yaml']);
    expect(entries).toEqual([]);
  });

  it('that forms a cycle ends', () => {
    using folder = new Folder(['manifests/a.yaml', 'manifests/deep/b.yaml'], {
      'manifests/self': '.',
      'manifests/deep/up': '..',
      'manifests/x.yaml': 'y.yaml',
      'manifests/y.yaml': 'x.yaml',
      'manifests/gone.yaml': 'nowhere.yaml',
    });
    const { files, entries } = findFiles(folder.root, [DEFAULT]);
    expect(files).toEqual(['manifests/a.yaml', 'manifests/deep/b.yaml']);
    expect(entries.map(({ file, message }) => `${file}: ${message}`)).toEqual([
      'manifests/gone.yaml: the path cannot be read: no such file',
      'manifests/x.yaml: the path cannot be read: its symbolic links form a cycle',
      'manifests/y.yaml: the path cannot be read: its symbolic links form a cycle',
    ]);
  });
});

it('reports a folder without read permission', () => {
  using folder = new Folder(['manifests/closed/a.yaml', 'manifests/b.yaml']);
  chmodSync(path.join(folder.root, 'manifests/closed'), 0);
  const source = new URL('../../src/manifests/find-files.ts', import.meta.url);
  const program = `
    import { findFiles } from ${JSON.stringify(source)};
    console.log(JSON.stringify(findFiles(${JSON.stringify(folder.root)}, [${JSON.stringify(DEFAULT)}])));`;
  const [file = '', ...args] = [...asOrdinaryUser, process.execPath, '--input-type=module', '--eval', program];
  const { files, entries } = JSON.parse(execFileSync(file, args, { encoding: 'utf8' }));
  chmodSync(path.join(folder.root, 'manifests/closed'), 0o700);
  expect(files).toEqual(['manifests/b.yaml']);
  expect(entries).toMatchObject([{ file: 'manifests/closed', code: 'unreadable-file' }]);
});
