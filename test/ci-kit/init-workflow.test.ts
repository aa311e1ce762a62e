import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ciWorkflow } from '../../src/cli/actions/init-settings.ts';
import { VERSION } from '../../src/version.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { GithubProject, type Request } from './github-project.ts';
import type { Workflow } from './workflow.ts';

const workflow = parse(ciWorkflow(VERSION)) as Workflow;
const request: Request = { number: 8, branch: 'night', title: 'Night' };

it('the workflow of a new project plans what is proposed, and applies what is merged', async () => {
  await using project = await GithubProject.open((emulator) =>
    projectFile(emulator).replace('VOXFORM_API_KEY', 'LOCAL_API_KEY'),
  );
  // In place of npm's: runs the voxform of this test where the one of this version is asked for.
  const npx = `#!/bin/sh\n[ "$1 $2" = "--yes voxform@${VERSION}" ] || exit 9\nshift 2\nexec voxform "$@"\n`;
  writeFileSync(path.join(project.repository.bin, 'npx'), npx, { mode: 0o755 });

  const proposed = await project.propose(workflow, request, {
    'manifests/night.yaml': agentManifest('night'),
  });
  expect(proposed.plan?.result, proposed.plan?.log).toBe('success');
  expect(proposed.plan?.summary).toContain('Agent/night');
  expect(project.writes()).toBe(0);
  const merged = await project.merge(workflow, request);
  expect(merged.apply?.result, merged.apply?.log).toBe('success');
  expect(project.created()).toEqual(['day', 'night']);
  const state = JSON.parse(project.repository.onMain('.voxform/test.state.json'));
  expect(Object.keys(state.resources)).toEqual(['Agent/day', 'Agent/night']);
});
