import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseYaml } from '../../src/manifests/parse-documents.ts';

describe('parsing YAML', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  it.each([
    { reason: 'a text', text: 'a: 1\n' },
    { reason: 'a text that the parser gives up on', text: '['.repeat(100_000) },
  ])('prints nothing whatever the environment says, and leaves it as it was: $reason', ({ text }) => {
    vi.stubEnv('LOG_TOKENS', '1');
    vi.stubEnv('LOG_STREAM', '1');
    const log = vi.spyOn(console, 'log').mockReturnValue();
    const dir = vi.spyOn(console, 'dir').mockReturnValue();
    const { env } = process;
    try {
      parseYaml(text);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
    expect([log, dir].flatMap(({ mock }) => mock.calls)).toEqual([]);
    expect(process.env).toBe(env);
    expect(process.env.LOG_TOKENS).toBe('1');
  });
});
