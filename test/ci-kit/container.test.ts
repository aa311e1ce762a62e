import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { describe, expect, inject, it } from 'vitest';
import { root } from './workflow.ts';

const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const packed = JSON.parse(read('package.json'));

/** The instructions of the Dockerfile, with continued lines joined and without comments. */
const instructions = read('Dockerfile')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return { name, rest };
  });
const ofName = (wanted: string) => instructions.filter(({ name }) => name === wanted).map(({ rest }) => rest);

describe('the Dockerfile', () => {
  it('uses one exact version of Node that is new enough', () => {
    const [, image = ''] = /^NODE_IMAGE=(.*)$/.exec(ofName('ARG')[0] ?? '') ?? [];
    const [, major, minor] = /^node:(\d+)\.(\d+)\.\d+-bookworm-slim$/.exec(image) ?? [];
    const [, oldestMajor, oldestMinor] = /^>=(\d+)\.(\d+)/.exec(packed.engines.node) ?? [];
    expect(Number(major) * 1000 + Number(minor)).toBeGreaterThanOrEqual(
      Number(oldestMajor) * 1000 + Number(oldestMinor),
    );
    expect(ofName('FROM')).toEqual(['\u0024{NODE_IMAGE} AS build', '\u0024{NODE_IMAGE}']);
  });

  it('copies only files that exist, are sent to the builder, and are needed to pack', () => {
    const sources = ofName('COPY')
      .filter((rest) => !rest.startsWith('--from='))
      .flatMap((rest) => rest.split(' ').slice(0, -1));
    expect(sources.filter((source) => !existsSync(path.join(root, source)))).toEqual([]);
    const [everything, ...kept] = read('.dockerignore').trim().split('\n');
    expect(everything).toBe('**');
    const sent = kept.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    expect(sent.sort()).toEqual(sources.sort());
    const shipped = packed.files.filter((each: string) => !each.startsWith('!') && each !== 'dist');
    const places = shipped.map((each: string) => each.replace(/\/\*.*$/, ''));
    expect(sources).toEqual(expect.arrayContaining(places));
  });

  it('runs the bin as process 1 of a user who is not root and owns no files', () => {
    expect(ofName('USER')).toEqual(['1000:1000']);
    expect(ofName('ENTRYPOINT')).toEqual([`["node", "/opt/voxform/${packed.bin.voxform}"]`]);
    expect(ofName('COPY').at(-1)).toBe('--from=build /voxform /opt/voxform');
    const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'USER') + 1);
    expect(last.map(({ name }) => name)).toEqual(['ENTRYPOINT', 'CMD']);
  });
});

const apart = [...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']), '--pid', '--fork'];
const mayUnshare = spawnSync('unshare', [...apart, 'true']).status === 0;

describe('the command as process 1', () => {
  it.skipIf(!mayUnshare)('stops on SIGTERM without an init process', async () => {
    const main = path.join(inject('built'), 'main.js');
    const args = [...apart, '--kill-child', process.execPath, main, 'emulator', '--port', '0'];
    const outer = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = new Promise((resolve) => outer.once('exit', (code, signal) => resolve({ code, signal })));
    const lines = createInterface({ input: outer.stdout });
    await new Promise((resolve) => lines.once('line', resolve));
    const inner = Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8'));
    expect(readFileSync(`/proc/${inner}/status`, 'utf8')).toMatch(/^NSpid:\s\d+\s1$/m);
    process.kill(inner, 'SIGTERM');
    expect(await ended).toEqual({ code: 0, signal: null });
  });
});
