import { describe, expect, it } from 'vitest';
import { commandEnvironment } from '../../editors/vscode/src/command-environment.ts';

const own = { HOME: '/home/ann', PATH: '/bin', OPENAI_API_KEY: 'topsecret', EMPTY: undefined };

describe('environment of the command', () => {
  it('is that of the editor', () => {
    expect(commandEnvironment(own, { isTrusted: true })).toEqual({
      HOME: '/home/ann',
      PATH: '/bin',
      OPENAI_API_KEY: 'topsecret',
      ELECTRON_RUN_AS_NODE: '1',
    });
  });

  it('contains no possible secret in an untrusted folder', () => {
    expect(commandEnvironment(own, { isTrusted: false })).toEqual({ HOME: '/home/ann', ELECTRON_RUN_AS_NODE: '1' });
  });
});
