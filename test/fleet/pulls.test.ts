/** @module-tag long */

import { expect, it } from 'vitest';
import { step } from '../step.ts';
import { ADDRESS, agents, inSync, MANIFEST, PAGE, pullScene } from './pull-scene.ts';

it('plans a request, reports it, and applies the reviewed plan after the merge', async () => {
  const scene = await pullScene('github');
  const { host, control } = scene;
  await scene.serve();
  await inSync(scene);
  const before = scene.writes();
  const request = host.openRequest({
    branch: 'warm',
    title: 'Warmer',
    author: 'ann',
    files: { [MANIFEST]: agents('Two.') },
  });
  const { number } = request;

  await step('the request has one comment and one status', async () => {
    const { workspaces } = await scene.planned(number);
    expect(workspaces).toMatchObject([{ address: ADDRESS, result: 'changes' }]);
    const [comment, ...others] = host.comments(number);
    expect(others).toEqual([]);
    expect(comment?.body).toContain('Two.');
    expect(comment?.body).toContain(ADDRESS.split(':')[1]);
    const statuses = host.statuses(host.headOf(request) ?? '');
    expect(statuses.map(({ state }) => state)).toEqual(['pending', 'success']);
    expect(statuses.at(-1)?.url).toBe(`${PAGE}/pulls/voices/${number}`);
  });

  await step('a newer commit updates the comment', async () => {
    host.push(number, { [MANIFEST]: agents('Three.') });
    await scene.planned(number);
    expect(host.comments(number)).toHaveLength(1);
    expect(host.comments(number)[0]?.body).toContain('Three.');
    expect(host.comments(number)[0]?.body).not.toContain('Two.');
    expect(scene.writes(), 'plans write nothing').toBe(before);
  });

  await step('the reviewed plan is applied after the merge', async () => {
    host.review(number, 'bob', 'approve');
    host.mergeBy(number, 'squash');
    await scene.until(() => scene.prompts().some((each) => each.includes('Three.')), 'it is applied');
    await scene.until(
      async () => (await scene.pull(number))?.workspaces[0]?.outcome?.includes('bob') === true,
      'the outcome',
    );
    const { workspaces } = await control.status({ address: ADDRESS });
    expect(workspaces).toHaveLength(1);
    const runs = await scene.database.query(
      `SELECT result, who, plan_id FROM voxform_fleet.runs WHERE result = 'approved'`,
    );
    expect(runs).toContainEqual({
      result: 'approved',
      who: `voices pull request ${number}, reviewed by bob`,
      plan_id: expect.any(String),
    });
  });
});
