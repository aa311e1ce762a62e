import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeFiles } from '../../../src/project/write-back/write-files.ts';
import { TemporaryProject } from '../temporary-project.ts';

const edit = (file: string, before: string, after: string) => ({ file, before, after });

function at(project: TemporaryProject, name: string): string {
  return path.join(project.root, name);
}

describe('several files written together', () => {
  it('are replaced, keep their modes, and leave no other files', async () => {
    using project = new TemporaryProject({ 'a.yaml': 'a', 'm/b.yaml': '\ufeffb' });
    chmodSync(at(project, 'a.yaml'), 0o604);
    await writeFiles(project.root, [edit('a.yaml', 'a', 'A'), edit('m/b.yaml', '\ufeffb', '\ufeffB')]);
    expect(readFileSync(at(project, 'a.yaml'), 'utf8')).toBe('A');
    expect(readFileSync(at(project, 'm/b.yaml'), 'utf8')).toBe('\ufeffB');
    expect(statSync(at(project, 'a.yaml')).mode & 0o777).toBe(0o604);
    expect(readdirSync(project.root).sort()).toEqual(['a.yaml', 'm', 'voxform.yaml']);
  });

  it.each([
    {
      reason: 'one changed during the run',
      file: 'b.yaml',
      before: 'old',
      message: 'b.yaml changed during the run',
    },
    { reason: 'one is missing', file: 'none.yaml', before: '', message: 'no such file' },
    { reason: 'one is a folder', file: 'folder', before: '', message: 'cannot write folder' },
    {
      reason: 'one is outside the project',
      file: 'link.yaml',
      before: 'x',
      message: 'is outside the project',
    },
  ])('are not written if $reason', async ({ file, before, message }) => {
    using project = new TemporaryProject({ 'a.yaml': 'a', 'b.yaml': 'b' });
    using other = new TemporaryProject({ 'x.yaml': 'x' });
    mkdirSync(at(project, 'folder'));
    symlinkSync(at(other, 'x.yaml'), at(project, 'link.yaml'));
    const listed = readdirSync(project.root);
    const edits = [edit('a.yaml', 'a', 'A'), edit(file, before, 'new')];
    await expect(writeFiles(project.root, edits)).rejects.toThrow(message);
    expect(readFileSync(at(project, 'a.yaml'), 'utf8')).toBe('a');
    expect(readFileSync(at(other, 'x.yaml'), 'utf8')).toBe('x');
    expect(readdirSync(project.root)).toEqual(listed);
  });

  it('may be links inside the project', async () => {
    using project = new TemporaryProject({ 'real/a.yaml': 'a' });
    symlinkSync('real/a.yaml', at(project, 'a.yaml'));
    await writeFiles(project.root, [edit('a.yaml', 'a', 'A')]);
    expect(readFileSync(at(project, 'real/a.yaml'), 'utf8')).toBe('A');
    writeFileSync(at(project, 'real/a.yaml'), 'still linked');
    expect(readFileSync(at(project, 'a.yaml'), 'utf8')).toBe('still linked');
    expect(existsSync(at(project, 'a.yaml'))).toBe(true);
  });
});
