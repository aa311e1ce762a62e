import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseDocuments, parseYaml } from '../../src/manifests/parse-documents.ts';

describe('YAML parser', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  it.each([
    { reason: 'a string', text: 'a: 1\n' },
    { reason: 'a text for which the parser gives up', text: '['.repeat(100_000) },
  ])('prints nothing in any environment, and restores the environment: $reason', { tags: ['long'] }, ({ text }) => {
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

const MEBIBYTE = 1024 * 1024;
const fill = (piece: string) => piece.repeat(Math.floor((MEBIBYTE - 10) / piece.length));

describe('file that would need too much memory', () => {
  it.each([
    { reason: 'open brackets', text: fill('[{'), code: 'too-deep', place: [1, 501] },
    { reason: 'open brackets on separate lines', text: fill('- [\n'), code: 'too-deep', place: [501, 3] },
    { reason: 'open and closed brackets', text: fill('[[],'), code: 'too-deep', place: [1, 1998] },
    { reason: 'marks', text: `[${fill('\t-')}`, code: 'file-too-large' },
    { reason: 'empty documents', text: '---\n'.repeat(200_000), code: 'file-too-large', place: [20_001, 1] },
    {
      reason: 'short empty documents',
      text: '---\n'.repeat(24_000),
      code: 'file-too-large',
      place: [20_001, 1],
    },
    {
      reason: 'ends of documents',
      text: '...\n'.repeat(200_000),
      code: 'file-too-large',
      place: [20_001, 1],
    },
    { reason: 'keys without text', text: fill('? '), code: 'file-too-large' },
  ])('is refused before it is parsed: $reason', { tags: ['long'] }, ({ text, code, place }) => {
    const { documents, problems } = parseDocuments(text);
    expect(documents).toEqual([]);
    expect(problems).toMatchObject([{ code, ...(place && { line: place[0], column: place[1] }) }]);
  });

  it.each([
    { reason: 'many documents', text: '---\na: 1\n'.repeat(12_000), documents: 12_000 },
    { reason: 'a long list of numbers', text: `a: [${'1, '.repeat(30_000)}1]`, documents: 1 },
    { reason: 'brackets in a string', text: `a: |\n${'  [[[[{{{{\n'.repeat(15_000)}`, documents: 1 },
    { reason: 'brackets in quotes', text: `a: "${'['.repeat(200_000)}"`, documents: 1 },
    { reason: 'lines with a bracket', text: `a: |\n${'  [\n'.repeat(40_000)}`, documents: 1 },
  ])('is not refused for $reason', ({ text, documents }) => {
    const parsed = parseDocuments(text);
    expect(parsed.problems).toEqual([]);
    expect(parsed.documents).toHaveLength(documents);
  });
});
