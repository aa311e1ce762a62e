import { describe, expect, it } from 'vitest';
import { DocumentMemory } from '../../src/manifests/document-cache.ts';
import type { ParsedFile } from '../../src/manifests/parse-documents.ts';
import { loadVersion } from '../../src/operator/load-version.ts';
import { manifest, TemporaryProject } from '../project/temporary-project.ts';
import { testContext } from './test-context.ts';

/** Remembers which texts were parsed. */
class Counted extends DocumentMemory {
  parsed = 0;

  override set(key: string, file: ParsedFile): void {
    this.parsed += 1;
    super.set(key, file);
  }
}

const agent = (name: string, prompt: string): string =>
  manifest('Agent', name, `prompt_config: { prompt: ${prompt} }`);

describe('loading again', () => {
  it('parses only what changed, and still sees what is wrong elsewhere', async () => {
    using project = new TemporaryProject({
      'manifests/a.yaml': agent('a', 'one'),
      'manifests/b.yaml': agent('b', 'one'),
      'manifests/c.yaml': agent('c', '{ $file: c.md }'),
      'manifests/c.md': 'one',
    });
    const memory = new Counted();
    const load = async () => {
      memory.parsed = 0;
      const version = { folder: project.root, commit: undefined };
      const result = await loadVersion(testContext(project.root), { version, local: undefined, memory });
      const prompts =
        'loaded' in result
          ? result.loaded.resources.map(({ spec }) => (spec.prompt_config as { prompt: unknown }).prompt)
          : result.invalid.diagnostics.map(({ message }) => message);
      return [memory.parsed, ...prompts];
    };
    expect(await load()).toEqual([3, 'one', 'one', 'one']);
    expect(await load()).toEqual([0, 'one', 'one', 'one']);
    project.write({ 'manifests/b.yaml': agent('b', 'two'), 'manifests/c.md': 'two' });
    expect(await load()).toEqual([1, 'one', 'two', 'two']);
    project.write({ 'manifests/b.yaml': agent('a', 'two') });
    expect(await load()).toEqual([1, expect.stringContaining('Agent/a')]);
    expect(await load()).toEqual([0, expect.stringContaining('Agent/a')]);
  });
});
