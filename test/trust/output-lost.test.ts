import { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/process.ts';
import { command } from './in-process.ts';
import { leakIn, places } from './planted-secrets.ts';
import { SecretWorkspace } from './secret-workspace.ts';

const NO_SPACE = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });

/** A stream that accepts no data. */
class Full extends Writable {
  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: (error: Error) => void): void {
    done(NO_SPACE);
  }
}

describe('output that cannot be written', () => {
  it('is reported, and does not end a run during its writes', async () => {
    await using workspace = await SecretWorkspace.open({ few: true });
    const { cwd, env } = { cwd: workspace.root, env: workspace.env };
    const { code, stderr } = await command(['apply', '--auto-approve'], { cwd, env, stdout: new Full() });
    expect(code).toBe(1);
    expect(stderr).toContain('cannot write the result: ENOSPC');
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(workspace.platform.emulator.world.webhooks.size).toBe(1);
    expect((await workspace.run(['plan', '--detailed-exitcode'])).code).toBe(0);
  });
});

describe('uncaught internal error', () => {
  it('is reported without secrets in its message', async () => {
    await using workspace = await SecretWorkspace.open({ few: true });
    const stderr = new PassThrough().setEncoding('utf8');
    const ended = Promise.withResolvers<number>();
    const fake = Object.assign(new EventEmitter(), {
      argv: ['node', 'voxform', 'plan'],
      env: workspace.env,
      cwd: () => workspace.root,
      exit: (code: number) => ended.resolve(code),
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr,
      exitCode: undefined,
    });
    await main(fake as unknown as NodeJS.Process);
    const secret = places.prompt.text;
    fake.emit('uncaughtException', new TypeError(`no ${'word '.repeat(14)}${secret}`, { cause: secret }));
    expect(await ended.promise).toBe(1);
    const said = String(stderr.read());
    expect(said).toContain('this is a bug in voxform');
    expect(leakIn(said)).toBeUndefined();
  });
});
