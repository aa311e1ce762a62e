import path from 'node:path';
import { expect, it } from 'vitest';
import { suggestionsAt } from '../../src/editor/completion-items.ts';
import { agentManifest, projectFile, testWorkspace } from '../cli/workspace.ts';
import { openSnapshot } from './open-snapshot.ts';

const FILE = 'manifests/new.yaml';
const TEXT = 'kind: Agent\nspec: { llm_config: { knowledge_base_ids: [{ $ref: "K';

it.each([
  { by: ['get', 'knowledge-bases'], keeps: true },
  { by: ['plan'], keeps: true },
  { by: ['plan', '--no-cache'], keeps: false },
])('voxform $by stores the names of knowledge bases for editors: $keeps', async ({ by, keeps }) => {
  await using w = await testWorkspace({
    'manifests/a.yaml': `${agentManifest('day').trimEnd()}\n  llm_config: { knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }] }\n`,
  });
  for (const name of ['FAQ', 'Prices', 'Prices', 'key-of-the-test-workspace'])
    w.emulator.dashboard.addKnowledgeBase({ name });
  const cacheFolder = path.join(w.folder.root, 'cache/voxform');
  const suggested = async (): Promise<readonly string[]> => {
    const snapshot = await openSnapshot(w.folder.root, { texts: { [FILE]: TEXT }, cacheFolder });
    return suggestionsAt(snapshot, FILE, TEXT.length).map(({ label, detail }) => `${label}: ${detail}`);
  };
  const used = 'KnowledgeBase/FAQ: used in this project';
  expect(await suggested()).toEqual([used]);

  const { stderr } = await w.runWith({ XDG_CACHE_HOME: path.dirname(cacheFolder) }, ...by);

  expect(stderr).not.toContain('error');
  expect(await suggested()).toEqual(keeps ? [used, 'KnowledgeBase/Prices: on the platform'] : [used]);

  const names = '    knowledge_bases: { Costs: Prices }\n';
  await w.folder.write('voxform.yaml', projectFile(w.emulator, names));
  expect(await suggested()).toEqual(keeps ? [used, 'KnowledgeBase/Costs: Prices on the platform'] : [used]);
});
