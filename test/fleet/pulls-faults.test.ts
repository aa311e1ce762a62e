/** @module-tag long */

import { createHmac } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { eventReceiver } from '../../src/fleet/events.ts';
import { markerOf } from '../../src/fleet/pulls/pull-report.ts';
import { type CodeHostFake, type FakeRequest, type Fault, MACHINE, TOKEN } from '../hosting/code-host-fake.ts';
import { hostNames } from '../hosting/drift-project.ts';
import { postgresServer } from '../state/backends/postgres/postgres-server.ts';
import { step } from '../step.ts';
import { agents, inSync, MANIFEST, type PullScene, pullScene } from './pull-scene.ts';
import { fleetFileIn } from './server-options.ts';

/** Only requested runs of the workspace are due. */
const RARE = { rules: '  "voices/*": { mode: approve, approved_by: pull-request, interval: 1h }' };
const LIST = /^GET \S*(pulls|merge_requests) $/;
const STATUS = /^POST \S*statuses\/\w+ $/;

/** Matches the creation of a comment on a request. */
const adding = (number: number): RegExp => new RegExp(`^POST \\S*/${number}/(comments|notes) $`);

const open = (host: CodeHostFake, branch: string, prompt = `Prompt of ${branch}.`): FakeRequest =>
  host.openRequest({ branch, files: { [MANIFEST]: agents(prompt) } });

/** Expects exactly one comment, for the newest commit, and a status for this commit. */
async function expectReported(scene: PullScene, number: number): Promise<void> {
  const { host } = scene;
  await scene.planned(number);
  const head = host.headOf(host.request(number)) ?? '';
  const own = host.comments(number).filter(({ user }) => user === MACHINE);
  expect(own.map(({ body }) => body.includes(head.slice(0, 10)))).toEqual([true]);
  expect(host.statuses(head).at(-1)?.state).toBe('success');
}

const writesOf = (host: CodeHostFake): readonly string[] => host.writes.map(({ method, path }) => `${method} ${path}`);

describe('faults of a host', () => {
  for (const name of hostNames)
    it(`does not prevent exactly one report of each request if its comment and its status fail: ${name}`, async () => {
      const scene = await pullScene(name, RARE);
      const { host } = scene;
      await scene.serve();
      await inSync(scene);
      const refused = (status: number): Fault['answer'] => ({ status, body: { message: 'a fault' } });
      const forged = `<!-- mine -->\n${markerOf('voices')}\nAll is well.`;
      const cases: Readonly<Record<string, (number: number) => readonly Fault[]>> = {
        'the answer to a new comment is lost': (number) => [{ on: adding(number), answer: 'lost' }],
        'a new comment is refused': (number) => [{ on: adding(number), answer: refused(422) }],
        'a new comment is forbidden': (number) => [{ on: adding(number), answer: refused(403) }],
        'another process adds a comment at the same time': (number) => [
          {
            on: adding(number),
            answer: 'pass',
            act: () => void host.comment(number, MACHINE, `${markerOf('voices')}\nof another process`),
          },
        ],
        'the request disappears while it is planned': (number) => [{ on: adding(number), answer: refused(404) }],
        'a status is refused': () => [{ on: STATUS, answer: refused(422) }],
        'the answer to a status is lost': () => [{ on: STATUS, answer: 'lost' }],
        'the host fails': () => [{ on: STATUS, answer: refused(500) }],
      };
      const opened = new Map<string, number>();
      await step('new requests', async () => {
        for (const [index, [reason, faults]] of Object.entries(cases).entries()) {
          const { number } = open(host, `branch-${index}`);
          opened.set(reason, number);
          host.comment(number, 'mallory', forged);
          host.faults.push(...faults(number));
        }
        for (const [reason, number] of opened) await step(reason, () => expectReported(scene, number));
        expect(host.faults).toEqual([]);
      });
      await step('new commits', async () => {
        const [deleted = 0, race = 0, doubled = 0, ...others] = [...opened.values()];
        const ownOf = (number: number) => host.comments(number).findIndex(({ user }) => user === MACHINE);
        const remove = (number: number) => void host.comments(number).splice(ownOf(number), 1);
        remove(deleted);
        host.comment(doubled, MACHINE, host.comments(doubled)[ownOf(doubled)]?.body ?? '');
        const { id: oldest } = host.comments(doubled)[ownOf(doubled)] ?? {};
        const { id: raced } = host.comments(race)[ownOf(race)] ?? {};
        host.faults.push({ on: new RegExp(`/(comments|notes)/${raced} $`), answer: 'pass', act: () => remove(race) });
        for (const number of [deleted, race, doubled, ...others]) {
          host.push(number, { [MANIFEST]: agents('Newer.') });
        }
        for (const number of opened.values()) await expectReported(scene, number);
        expect(host.faults).toEqual([]);
        expect(host.comments(doubled)[ownOf(doubled)]?.id).toBe(oldest);
        for (const number of opened.values())
          expect(host.comments(number).filter(({ user }) => user === 'mallory')).toMatchObject([{ body: forged }]);
      });
      await step('an unchanged list costs a conditional request per interval, and no write', async () => {
        const from = host.calls.length;
        await scene.until(() => host.calls.length >= from + 3, 'three looks');
        const looks = host.calls
          .slice(from)
          .map(({ method, path, status }) => `${method} ${path.split('/').at(-1)} ${status}`);
        const list = name === 'github' ? 'pulls' : 'merge_requests';
        expect(new Set(looks)).toEqual(new Set([`GET ${list} 304`]));
      });
    });

  it('waits while the host is down or refuses all requests, and adds no second comment afterwards', async () => {
    const scene = await pullScene('gitlab', RARE);
    const { host, log } = scene;
    await scene.serve();
    await inSync(scene);
    const { number } = open(host, 'first');
    await expectReported(scene, number);
    const [comment] = host.comments(number);
    const said = (text: string) => log.filter((line) => line.includes(text)).length;
    const goesOn = async (title: string, act: () => Promise<void>): Promise<void> =>
      step(title, async () => {
        const back = said('can be read again');
        await act();
        await scene.until(() => said('can be read again') > back, 'it is read again');
        await scene.planned(number);
        expect(host.comments(number)).toMatchObject([{ id: comment?.id }]);
        expect(await scene.control.pullProblems()).toEqual([]);
        expect(log.some((line) => line.includes(`info planned pull request ${number} of voices`))).toBe(true);
      });
    const problemSaid = async (text: RegExp, cause: () => void | Promise<void>): Promise<void> => {
      const before = log.length;
      await cause();
      const found = () => log.slice(before).some((line) => line.includes('cannot read the pull') && text.test(line));
      await scene.until(found, 'the problem is shown');
    };
    await goesOn('connections are refused', async () => {
      await problemSaid(/refused/, () => host.away());
      const [problem] = await scene.control.pullProblems();
      expect(problem).toMatchObject({ source: 'voices', message: expect.stringContaining('refused') });
      expect(Date.parse(problem?.since ?? '')).toBeLessThanOrEqual(Date.now());
      host.push(number, { [MANIFEST]: agents('While it was away.') });
      await host.listening();
    });
    await expectReported(scene, number);
    await goesOn('the token is revoked', async () => {
      await problemSaid(/401/, () => void host.tokens.delete(TOKEN));
      host.tokens.set(TOKEN, true);
    });
    await goesOn('the repository was renamed', async () => {
      await problemSaid(/404/, () => void host.faults.push({ on: LIST, answer: { status: 404 } }));
    });
    await goesOn('all answers are errors', async () => {
      const failing = Array.from({ length: 5 }, () => ({ on: LIST, answer: { status: 502 } }) as const);
      await problemSaid(/502/, () => void host.faults.push(...failing));
    });
    await step("no request is sent before the host's Retry-After ends", async () => {
      const times: number[] = [];
      const answer = { status: 403, headers: { 'retry-after': '3' }, body: { message: 'secondary rate limit' } };
      const note = () => void times.push(Date.now());
      const act = (): void => {
        note();
        host.faults.push({ on: /./, answer: 'pass', act: note });
      };
      host.faults.push({ on: STATUS, answer, act });
      host.push(number, { [MANIFEST]: agents('After a limit.') });
      await expectReported(scene, number);
      const [limited = 0, next = 0] = times;
      expect(next - limited).toBeGreaterThanOrEqual(3000);
    });
    expect(host.comments(number)).toMatchObject([{ id: comment?.id }]);
  });

  it('cancels work on outdated commits, and continues after a crash', async () => {
    let isHeld = false;
    const held: (() => void)[] = [];
    const arrived: string[] = [];
    const scene = await pullScene('github', {
      ...RARE,
      platform: {
        async onRequest({ path }) {
          if (!isHeld) return undefined;
          arrived.push(path);
          await new Promise<void>((resolve) => held.push(resolve));
          return undefined;
        },
      },
    });
    const { host, until, database } = scene;
    const hold = (): void => {
      isHeld = true;
      arrived.length = 0;
    };
    const release = (): void => {
      isHeld = false;
      for (const each of held.splice(0)) each();
    };
    onTestFinished(release);
    const isUnclaimed = async (number: number): Promise<boolean> => {
      const [row] = await database.query('SELECT holder FROM voxform_fleet.pulls WHERE number = $1', number);
      return row?.holder === null;
    };
    const first = await scene.serve();
    await inSync(scene);

    const pushed = open(host, 'pushed');
    await step('a newer commit ends the run of an older one', async () => {
      hold();
      // The plan of the first commit never receives a response.
      host.push(pushed.number, { [MANIFEST]: agents('Older.') });
      const older = host.headOf(pushed) ?? '';
      await until(() => arrived.length > 0, 'a plan reads the platform');
      const count = arrived.length;
      host.push(pushed.number, { [MANIFEST]: agents('Newer.') }, { force: true });
      await until(() => arrived.length > count, 'a plan of the newer commit reads the platform');
      release();
      await expectReported(scene, pushed.number);
      expect(host.statuses(older).map(({ state }) => state)).toEqual(['pending']);
      expect(host.comments(pushed.number)[0]?.body).not.toContain('Older.');
    });

    const closed = await step('a closed request gets no more reports', async () => {
      hold();
      const request = open(host, 'closed');
      await until(() => arrived.length > 0, 'a plan reads the platform');
      host.closeRequest(request.number);
      const isOver = async () => (await scene.pull(request.number))?.state === 'closed';
      await until(isOver, 'the fleet has seen it');
      await until(() => isUnclaimed(request.number), 'its run ends');
      release();
      const writes = writesOf(host).length;
      const from = host.calls.length;
      await until(() => host.calls.length > from + 2, 'two more looks');
      expect(writesOf(host).slice(writes)).toEqual([]);
      expect(host.comments(request.number)).toEqual([]);
      expect((await scene.pull(request.number))?.problem).toBeNull();
      return request;
    });

    await step('a reopened request is planned again, in the same comment', async () => {
      host.reopen(closed.number);
      await expectReported(scene, closed.number);
      const [comment] = host.comments(closed.number);
      host.closeRequest(closed.number);
      await until(async () => (await scene.pull(closed.number))?.state === 'closed', 'it is closed');
      for (const agent of scene.emulator.world.agents.values())
        if (agent.prompt_config) agent.prompt_config.prompt = 'Changed in the dashboard.';
      host.reopen(closed.number);
      await until(() => host.comments(closed.number)[0]?.body.includes('dashboard') === true, 'it is planned again');
      await expectReported(scene, closed.number);
      expect(host.comments(closed.number)).toMatchObject([{ id: comment?.id }]);
    });

    await step('the database is away while a request is planned', async () => {
      hold();
      const { number } = open(host, 'outage');
      await until(() => arrived.length > 0, 'a plan reads the platform');
      await using outage = await outageOf(scene);
      release();
      const failed = () =>
        scene.log.some((line) => line.includes('cannot store the result') || line.includes('cannot use the database'));
      await until(failed, 'it fails');
      await outage.end();
      await claimsExpire(scene);
      await expectReported(scene, number);
    });

    await step('two processes plan each request once', async () => {
      const second = await scene.serve();
      const numbers = ['a', 'b', 'c'].map((branch) => open(host, branch).number);
      for (const number of numbers) await expectReported(scene, number);
      for (const number of numbers) host.push(number, { [MANIFEST]: agents(`Newer ${number}.`) });
      for (const number of numbers) await expectReported(scene, number);
      await Promise.all([first.stop('for the next step'), second.stop('for the next step')]);
    });

    await step('a process is killed between the comment and the status', async () => {
      const child = await scene.child();
      const { number } = open(host, 'killed');
      const kill = (): void => child.kill('SIGKILL');
      host.faults.push({
        on: adding(number),
        answer: 'pass',
        act: () => void host.faults.push({ on: STATUS, answer: 'cut', act: kill }),
      });
      await child.ended;
      expect(host.comments(number)).toHaveLength(1);
      expect(host.statuses(host.headOf(host.request(number)) ?? '').map(({ state }) => state)).toEqual(['pending']);
      await claimsExpire(scene);
      await scene.serve();
      await expectReported(scene, number);
    });
  });
});

it('checks the requests of a source immediately on an event of its host', async () => {
  const SECRET = 'a-secret-of-the-webhook';
  const scene = await pullScene('github', {
    ...RARE,
    interval: '1h',
    source: '    webhook: { $secret: VOICES_WEBHOOK }\n',
    secrets: { VOICES_WEBHOOK: SECRET },
  });
  const { host, database, pg, folder } = scene;
  await scene.serve();
  await inSync(scene);
  const env = { FLEET_DATABASE_URL: pg.url, HOST_TOKEN: TOKEN, VOICES_WEBHOOK: SECRET };
  const receive = eventReceiver(fleetFileIn(folder.root, env), database);
  const server = http.createServer(async (request, response) => {
    response.writeHead((await receive?.('voices', request)) ? 202 : 401).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const post = async (secret: string): Promise<number> => {
    const body = '{"action":"opened"}';
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/voices`;
    return (await fetch(url, { method: 'POST', body, headers: { 'x-hub-signature-256': signature } })).status;
  };
  const { number } = open(host, 'event');
  const before = host.calls.length;
  expect(await post('another-secret-of-the-webhook')).toBe(401);
  expect(host.calls).toHaveLength(before);
  expect(await post(SECRET)).toBe(202);
  await expectReported(scene, number);
  host.review(number, 'bob', 'approve');
  host.mergeBy(number, 'squash');
  expect(await post(SECRET)).toBe(202);
  await scene.until(() => scene.prompts().some((each) => each.includes('Prompt of event.')), 'it is applied');
});

/** Lets time pass until the claims of an ended process expire. */
async function claimsExpire({ database }: PullScene): Promise<void> {
  await database.query('UPDATE voxform_fleet.pulls SET until = now() WHERE until IS NOT NULL');
}

/** Makes the database unavailable until the result is disposed of. */
async function outageOf({ pg }: PullScene): Promise<AsyncDisposable & { end(): Promise<void> }> {
  const admin = fleetDatabaseAt((await postgresServer()).url('postgres'));
  await admin.query(`ALTER DATABASE ${pg.name} ALLOW_CONNECTIONS false`);
  await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', pg.name);
  const end = async (): Promise<void> => {
    await admin.query(`ALTER DATABASE ${pg.name} ALLOW_CONNECTIONS true`);
  };
  return {
    end,
    async [Symbol.asyncDispose]() {
      await end();
      await admin.close();
    },
  };
}
