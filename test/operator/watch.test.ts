import { copyFile, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { createMetrics, type Metrics } from '../../src/operator/health/metrics.ts';
import { NotificationEvents } from '../../src/operator/notifications/notification-events.ts';
import type { RunReport } from '../../src/operator/run-report.ts';
import { statusJson } from '../../src/operator/run-summary.ts';
import { folderSource } from '../../src/operator/source.ts';
import { Watch, type WatchOptions } from '../../src/operator/workspace-watch.ts';
import { notifyEvents } from '../../src/project/notify-schema.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { API_KEY, agentManifest, projectFile, webhookManifest } from '../cli/workspace.ts';
import { agentNamed } from '../emulator/agent-named.ts';
import { call } from '../emulator/call.ts';
import { createLocalStore } from '../state/temporary-state.ts';
import { FakeClock } from './fake-clock.ts';
import { testContext } from './test-context.ts';

interface Bench extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly folder: Folder;
  readonly clock: FakeClock;
  readonly watch: Watch;
  readonly metrics: Metrics;
  readonly said: string[];
  readonly stop: AbortController;
  /** The current time for windows. */
  time: Date;
  /** Returns the report of the next run. */
  next(): Promise<RunReport>;
  /** Starts the watch and returns the report of its first run. */
  start(): Promise<RunReport>;
  /** Requests a run and returns its report. */
  run(): Promise<RunReport>;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  writes(): number;
}

async function bench(
  files: Readonly<Record<string, string>>,
  {
    policy = {},
    project = '',
    beside,
  }: {
    policy?: Partial<WatchOptions['policy']>;
    project?: string;
    /** A bench whose platform and folder are shared. */
    beside?: Pick<Bench, 'emulator' | 'folder'>;
  } = {},
): Promise<Bench> {
  const emulator = beside?.emulator ?? (await startEmulator({ seed: 3 }));
  const folder =
    beside?.folder ?? (await temporaryFolder({ 'voxform.yaml': projectFile(emulator, project), ...files }));
  const clock = new FakeClock();
  const stop = new AbortController();
  const metrics = createMetrics('1.0.0');
  const said: string[] = [];
  const waiting: ((report: RunReport) => void)[] = [];
  const made = {
    emulator,
    folder,
    clock,
    metrics,
    said,
    stop,
    time: new Date('2026-01-07T12:00:00Z'),
    next: () => new Promise<RunReport>((resolve) => waiting.push(resolve)),
    writes: () => emulator.requests.filter(({ method }) => method !== 'GET').length,
    async [Symbol.asyncDispose]() {
      stop.abort('SIGTERM');
      if (beside !== undefined) return;
      await emulator.close();
      await folder[Symbol.asyncDispose]();
    },
  };
  const watch = new Watch({
    context: testContext(folder.root, {
      env: { VOXFORM_API_KEY: API_KEY },
      interrupts: { stop: stop.signal, requests: stop.signal },
      now: () => made.time,
    }),
    log: { entry: (level, message) => level !== 'debug' && said.push(`${level}: ${message}`) },
    source: folderSource(folder.root),
    local: undefined,
    policy: { mode: 'apply', lockTimeout: 0, ...policy },
    clock,
    timing: {
      pauses: { interval: 300_000, firstRetry: 5000, maxRetry: 300_000 },
      settling: { quiet: 250, longest: 5000 },
      random: () => 0.5,
      removalDelay: 2000,
      grace: 25_000,
    },
    observers: [metrics, { finished: (report) => waiting.shift()?.(report) }],
    watchFiles: () => ({ watch: async () => false, close: async () => undefined }),
  });
  return Object.assign(made, {
    watch,
    start() {
      void watch.untilStopped();
      return made.next();
    },
    run() {
      watch.trigger('request');
      return made.next();
    },
    async write(changed: Readonly<Record<string, string>>) {
      for (const [file, text] of Object.entries(changed)) await folder.write(file, text);
    },
  });
}

/** Returns for how long another run has held the state, from `/metrics` and `/status`. */
async function busySeconds({ metrics, watch }: Bench): Promise<unknown> {
  const gauge = /^voxform_busy_seconds (.*)$/m.exec(await metrics.text())?.[1];
  const status = statusJson(watch.status, 'x', 'apply');
  return [gauge, (status as { busy_seconds: unknown }).busy_seconds];
}

const agents = (count: number, prompt: string): Record<string, string> => ({
  'manifests/agents.yaml': Array.from({ length: count }, (_, index) => agentManifest(`a${index}`, prompt)).join(
    '---\n',
  ),
});

describe('watch', () => {
  it('records in the history who requested a run', async () => {
    await using made = await bench(agents(1, 'One.'));
    const { watch, start, run } = made;
    watch.trigger('request', 'ann');
    expect(await start()).toMatchObject({ askedBy: ['ann'], applied: [{ action: 'create' }] });
    expect(await watch.opened?.store.history()).toMatchObject([{ command: 'watch', asked_by: 'ann' }]);
    expect(await run()).toMatchObject({ askedBy: [] });
  });

  it('only reports unless it may apply, and reports pending changes once', async () => {
    const secret = `${agentManifest('s')}  llm_config: { api_key: { $secret: VOXFORM_API_KEY } }\n`;
    const files = { ...agents(1, 'One.'), 'manifests/hook.yaml': secret };
    const project = 'policies: [{ name: kind, deny: \'kind == "Agent"\' }]\n';
    await using made = await bench(files, { policy: { mode: 'report' }, project });
    const { start, run, said, writes } = made;
    expect(await start()).toMatchObject({ result: 'ok', hold: { reason: 'report' }, applied: [] });
    await run();
    expect([writes(), said]).toEqual([
      0,
      ['info: changes: 2 to create (Agent/a0; Agent/s); denied by kind (Agent/a0, Agent/s)'],
    ]);
  });

  it('lists the phone numbers that reach changed agents', async () => {
    await using made = await bench(agents(1, 'One.'));
    const { start, run, write, emulator, said } = made;
    await start();
    const [agent] = emulator.world.agents.keys();
    await call(emulator, ['POST', '/api/v1/numbers', { number: '+12025550120', nickname: 'Desk' }]);
    const [number = ''] = emulator.world.numbers.keys();
    emulator.dashboard.linkNumber(number, { inbound_agent_id: agent ?? '' });
    await write(agents(1, 'Two.'));
    await run();
    expect(said.filter((line) => line.includes('updated'))).toEqual([
      'info: updated Agent/a0: prompt_config.prompt; answers +12025550120 (Desk). In the dashboard, publish it when it is ready.',
    ]);
  });

  it('compares an edited agent with its published version once', async () => {
    await using made = await bench(agents(1, 'One.'));
    const { start, run, emulator } = made;
    await start();
    const [id = ''] = emulator.world.agents.keys();
    const published = emulator.dashboard.publishAgent(id);
    emulator.dashboard.edit('agents', id, { llm_config: { model: 'theirs' } });
    const edited = new Date(Date.parse(published.updated_at) + 3_600_000).toISOString();
    const stored = emulator.world.agents.get(id) ?? published;
    emulator.world.agents.set(id, { ...stored, updated_at: edited });
    for (const which of ['first', 'second']) {
      const { plan } = await run();
      expect(plan?.resources[0]?.notices, which).toEqual(['publishing would change llm_config.model']);
    }
    expect(emulator.requests.filter(({ path }) => path.endsWith('/versions/latest'))).toHaveLength(1);
  });

  it('applies only in windows, and wakes for the next one', async () => {
    const project = 'watch: { windows: [{ cron: "0 13 * * *", duration: 1h }] }\n';
    await using made = await bench(agents(1, 'One.'), { project });
    const { watch, next, start, run, clock, writes } = made;
    expect(await start()).toMatchObject({ hold: { reason: 'window', opensAt: new Date('2026-01-07T13:00:00Z') } });
    await clock.pass(0);
    expect(watch.status.secondsUntilNext).toBe(300);
    made.time = new Date('2026-01-07T12:58:00Z');
    await run();
    await clock.pass(0);
    expect([writes(), watch.status.secondsUntilNext]).toEqual([0, 120]);
    made.time = new Date('2026-01-07T13:00:00Z');
    const later = next();
    await clock.pass(120_000);
    expect(await later).toMatchObject({ triggers: ['window'], applied: [{ result: { status: 'done' } }] });
    expect(writes()).toBe(1);
  });

  it('passes no guard and replaces no record without the flag for it', async () => {
    const files = { ...agents(12, 'One.'), 'manifests/hook.yaml': webhookManifest('h', 'https://a.example') };
    await using made = await bench(files);
    const { start, run, write, emulator, said, writes } = made;
    expect(await start()).toMatchObject({ result: 'ok' });
    const before = writes();
    await write(agents(12, 'Two.'));
    await write({ 'manifests/hook.yaml': webhookManifest('h', 'https://b.example') });
    for (let count = 0; count < 2; count++) {
      expect(await run()).toMatchObject({ result: 'refused', hold: { reason: 'guard' }, applied: [] });
    }
    expect([writes() - before, emulator.world.webhooks.size]).toEqual([0, 1]);
    expect(said.filter((each) => each.includes('--allow-large-change'))).toHaveLength(1);
    expect(said.filter((each) => each.includes('Webhook/h is blocked'))).toHaveLength(1);
  });

  it('applies nothing that a policy denies, and reports this once', async () => {
    const rule = (text: string) => `policies: [{ name: kind, kind: Agent, deny: '${text}' }]\n`;
    const project = rule('spec.prompt_config.prompt.contains("Two")');
    await using made = await bench(agents(2, 'One.'), { project });
    const { watch, start, run, write, folder, emulator, said, writes, metrics } = made;
    expect(await start()).toMatchObject({ result: 'ok' });
    const before = writes();
    await write(agents(2, 'Two.'));
    const events = new NotificationEvents();
    const reported = [];
    for (let count = 0; count < 2; count++) {
      const report = await run();
      expect(report).toMatchObject({ result: 'refused', hold: { reason: 'policy' }, applied: [] });
      reported.push(...events.eventsOf(report)(notifyEvents));
    }
    const message = 'nothing is applied: denied by kind (Agent/a0, Agent/a1)';
    expect(writes()).toBe(before);
    expect(said.filter((each) => each.includes(message))).toHaveLength(1);
    expect(reported.map(({ event, values }) => [event, values.text])).toEqual([
      ['failure', expect.stringContaining(message)],
    ]);
    expect(statusJson(watch.status, 'x', 'apply')).toMatchObject({ last_run: { held: { why: 'policy', message } } });
    expect(await metrics.text()).toContain('voxform_runs_total{result="refused"} 2');
    expect(await metrics.text()).toContain('voxform_policy_violations{severity="deny"} 2');
    await folder.write('voxform.yaml', projectFile(emulator, rule('spec.prompt_config.promt == ""')));
    const wrong = await run();
    expect(wrong.invalid?.diagnostics[0]?.message).toBe('kind: unknown field "promt"; did you mean "prompt"?');
    expect(wrong.applied).toEqual([]);
    expect(writes()).toBe(before);
    await folder.write('voxform.yaml', projectFile(emulator, rule('false')));
    expect(await run()).toMatchObject({ result: 'ok', applied: [{}, {}] });
  });

  it('waits while another run holds the state, and takes no lock while it waits', async () => {
    await using made = await bench(agents(1, 'One.'));
    const { watch, next, folder, clock, said } = made;
    const store = createLocalStore({
      root: folder.root,
      path: path.join(folder.root, '.voxform/test.state.json'),
      host: hostname(),
      user: 'someone',
      pid: process.pid,
      version: '1.0.0',
      now: () => new Date(),
    });
    const lease = await store.lock({
      operation: 'apply',
      timeoutSeconds: 0,
      notice: () => undefined,
      warn: () => undefined,
    });
    void watch.untilStopped();
    for (let count = 0; count < 2; count++) {
      expect(await next()).toMatchObject({ result: 'busy', applied: [] });
      await clock.pass(0);
      const left = watch.status.secondsUntilNext ?? 0;
      expect(left).toBe(3.75 * 2 ** count);
      if (count === 0) watch.trigger('request');
    }
    expect(said).toHaveLength(1);
    const seconds: unknown[] = [];
    for (const isLong of [false, true, true]) {
      const later = next();
      await clock.pass(400_000);
      expect(await later).toMatchObject({ result: 'busy', busy: { isLong } });
      await clock.pass(0);
      seconds.push(await busySeconds(made));
    }
    expect(seconds).toEqual([
      ['400', 400],
      ['800', 800],
      ['1200', 1200],
    ]);
    expect(said).toHaveLength(2);
    expect(said[1]).toMatch(
      new RegExp(`locked by apply of someone@.* last heartbeat \\d+ s ago .*voxform state unlock ${lease.info.id}`),
    );
    await lease.release();
    const later = next();
    await clock.pass(600_000);
    expect(await later).toMatchObject({ result: 'ok', triggers: ['retry'] });
    expect(await store.holder()).toBeUndefined();
    expect(await busySeconds(made)).toEqual(['0', null]);
  });

  it('writes nothing with an older state, and reports the error', async () => {
    await using made = await bench(agents(1, 'One.'));
    const { start, run, write, folder, said, writes } = made;
    const state = path.join(folder.root, '.voxform/test.state.json');
    await start();
    await write(agents(2, 'One.'));
    expect(await run()).toMatchObject({ result: 'ok' });
    await copyFile(`${state}.backup-1`, state);
    const before = writes();
    for (let count = 0; count < 2; count++) {
      expect(await run()).toMatchObject({
        result: 'failed',
        plan: { warnings: [{ address: null, message: expect.stringContaining('is older than') }] },
        applied: [],
      });
    }
    expect(writes()).toBe(before);
    expect(said.filter((each) => each.startsWith('error:') && each.includes('is older than'))).toHaveLength(1);
  });

  it('releases removed resources only after the debounce', async () => {
    const files = { ...agents(2, 'One.'), 'manifests/hook.yaml': webhookManifest('h', 'https://a.example') };
    await using made = await bench(files);
    const { next, start, run, write, folder, clock } = made;
    await start();
    // A manifest that is cut off between two documents is still valid.
    await write(agents(1, 'One.'));
    expect(await run()).toMatchObject({ hold: { reason: 'leaving', addresses: ['Agent/a1'] }, applied: [] });
    await write(agents(2, 'One.'));
    expect(await run()).toMatchObject({ hold: undefined, plan: { summary: { forget: 0 } } });
    await rm(path.join(folder.root, 'manifests/hook.yaml'));
    expect(await run()).toMatchObject({ hold: { reason: 'leaving', addresses: ['Webhook/h'] }, applied: [] });
    const later = next();
    await clock.pass(2000);
    expect(await later).toMatchObject({
      triggers: ['settled'],
      applied: [{ address: 'Webhook/h', action: 'forget', result: { status: 'done' } }],
    });
  });

  /** Returns the metrics and the status after a run. */
  const seen = async ({ watch }: Bench, report: RunReport) => {
    const metrics = createMetrics('1.0.0');
    metrics.finished(report);
    const figures = await metrics.text();
    const figure = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(figures)?.[1]);
    const status = statusJson(watch.status, '', report.mode);
    return {
      blocked: figure('voxform_resources\\{status="blocked"\\}'),
      missing: figure('voxform_missing_resources'),
      drifted: figure('voxform_drifted_resources'),
      status: (status as { last_run: unknown }).last_run,
    };
  };
  const three = { ...agents(2, 'One.'), 'manifests/hook.yaml': webhookManifest('h', 'https://a.example') };
  const since = '2026-01-07T12:00:00.000Z';

  it.each([
    { what: 'a platform that shows new records late', behaviour: { showsNewAfterReads: 2 } },
    { what: 'a platform that answers a JSON 404 for a while', fault: { status: 404, body: { message: 'no' } } },
  ])('creates one record for a manifest, with $what', { tags: ['long'] }, async ({ behaviour, fault }) => {
    await using made = await bench(agents(1, 'One.'));
    const { start, run, write, emulator, said, writes } = made;
    const events = new NotificationEvents();
    const reported: unknown[] = [];
    const runAndReport = async () => {
      const report = await run();
      reported.push(...events.eventsOf(report)(notifyEvents));
      return report;
    };

    async function addTwoManifests(): Promise<void> {
      await start();
      if (behaviour !== undefined) emulator.setBehaviour(behaviour);
      await write(three);
      const [id] = emulator.world.agents.keys();
      await run();
      const match = { method: 'GET', pattern: `^/api/v1/(?!agents/${id})` };
      if (fault !== undefined) emulator.faults.add({ match, times: 4, fault });
    }

    async function findTheirRecordsMissing(): Promise<void> {
      const report = await runAndReport();
      const summary = { blocked: 2 };
      expect(report).toMatchObject({ result: 'ok', drift: [], applied: [], plan: { summary } });
      const missing = ['Agent/a1', 'Webhook/h'].map((address) => ({ address, since }));
      const status = { drift: [], missing };
      expect(await seen(made, report)).toMatchObject({ blocked: 2, missing: 2, drifted: 0, status });
    }

    async function findThemAgain(): Promise<void> {
      const report = await runAndReport();
      expect(report.plan?.summary).toMatchObject({ noop: 3, blocked: 0 });
      expect(await seen(made, report)).toMatchObject({ blocked: 0, missing: 0, status: { missing: [] } });
      expect([emulator.world.agents.size, emulator.world.webhooks.size, writes()]).toEqual([2, 1, 3]);
    }

    await addTwoManifests();
    await findTheirRecordsMissing();
    made.time = new Date('2026-01-07T12:00:06Z');
    await findTheirRecordsMissing();
    await findThemAgain();
    expect(said.filter((line) => line.includes('is missing from the platform'))).toHaveLength(2);
    expect(said.at(-1)).toBe('info: no more missing records');
    const values = { resources: ['Agent/a1', 'Webhook/h'], drifted: 0 };
    expect(reported, 'reported once, and its end').toMatchObject(
      ['is missing', 'no longer missing'].map((text) => ({
        event: 'drift',
        values: { ...values, text: expect.stringContaining(text) },
      })),
    );
  });

  it('never recreates a missing record, however long it is missing', async () => {
    await using made = await bench(three);
    const { start, run, emulator, said, writes } = made;
    await start();
    const [id = ''] = emulator.world.agents.keys();
    emulator.dashboard.remove('agents', id);
    for (let count = 0; count < 4; count += 1) {
      expect(await run()).toMatchObject({ result: 'ok', applied: [], missing: [{ id }], drift: [] });
      made.time = new Date(made.time.getTime() + 300_000);
    }
    expect(writes()).toBe(3);
    expect(said.filter((line) => line.includes(`its record ${id} is missing`))).toHaveLength(1);
    expect(said.join()).toContain('voxform apply --allow-recreate Agent/a');
  });

  it.each([
    { answer: 'kept' as const, writes: 2, reason: 'the response to the update shows this' },
    { answer: 'sent' as const, writes: 3, reason: 'reads contradict the response, and one more update is sent' },
  ])('stops sending a field that the platform ignores: $reason', async ({ answer, writes }) => {
    await using made = await bench(agents(1, 'One.'));
    const { next, start, write, emulator, clock, said } = made;
    await start();
    emulator.setBehaviour({ ignoredByPut: { fields: ['prompt_config.prompt'], answer } });
    await write(agents(1, 'Two.'));
    for (let interval = 0; interval < 6; interval += 1) {
      const later = next();
      await clock.pass(300_000);
      const report = await later;
      expect(report.result).toBe('ok');
      if (interval < 2) continue;
      expect(report).toMatchObject({ applied: [], drift: [], hold: undefined, plan: { summary: { noop: 1 } } });
      expect(report.plan?.resources[0]?.not_applied).toEqual(['prompt_config.prompt']);
    }
    expect(made.writes()).toBe(writes);
    expect(
      said.filter((line) => line.includes('The platform ignored the last update of prompt_config.prompt')),
    ).toHaveLength(1);
  });

  it('fails and writes nothing while a gateway answers 404', { tags: ['long'] }, async () => {
    await using made = await bench(three);
    const { start, run, emulator, writes } = made;
    await start();
    const fault = { status: 404, body: '<html>404</html>', headers: { 'content-type': 'text/html' } };
    emulator.faults.add({ match: {}, times: 1_000, fault });
    const report = await run();
    expect(report).toMatchObject({ result: 'failed', error: { reason: 'gateway' }, missing: [] });
    emulator.faults.clear();
    expect(await run()).toMatchObject({ result: 'ok', plan: { summary: { noop: 3 } } });
    expect(writes()).toBe(3);
  });

  it('keeps the time since when a record is missing in report mode', async () => {
    await using applied = await bench(three);
    await applied.start();
    await using made = await bench(three, { policy: { mode: 'report' }, beside: applied });
    const state = () => readFile(path.join(applied.folder.root, '.voxform/test.state.json'), 'utf8');
    const before = await state();
    const id = agentNamed(applied.emulator, 'a0');
    applied.emulator.dashboard.remove('agents', id);
    expect(await made.start()).toMatchObject({ missing: [{ id, since: undefined }] });
    for (const minutes of [5, 10]) {
      made.time = new Date(Date.parse(since) + minutes * 60_000);
      const report = await made.run();
      expect(report.missing).toEqual([{ address: 'Agent/a0', id, since }]);
      expect(report.plan?.resources[0]?.reason).toContain(`since ${since}`);
    }
    expect(await state()).toBe(before);
    expect(made.said.filter((line) => line.includes('is missing'))).toHaveLength(1);
  });

  it('aborts reads immediately on a stop', async () => {
    await using made = await bench(agents(1, 'One.'));
    const { watch, next, emulator, said, stop } = made;
    emulator.faults.add({ match: { method: 'GET' }, times: 99, fault: { delayMs: 3_600_000 } });
    const first = next();
    await made.folder.write(
      'manifests/n.yaml',
      'apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: n }\nspec: { number: "+12025550120" }\n',
    );
    const ended = watch.untilStopped();
    await expect.poll(() => emulator.requests.length).toBeGreaterThan(0);
    stop.abort('SIGTERM');
    expect(await first).toMatchObject({ result: 'interrupted' });
    expect([await ended, made.clock.waiting, said]).toEqual([true, 0, []]);
  });

  it('finishes its writes, but not for longer than the grace period', async () => {
    await using made = await bench(agents(1, 'One.'));
    const { watch, next, emulator, clock, stop } = made;
    emulator.faults.add({ match: { method: 'POST' }, fault: { delayMs: 3_600_000 } });
    const created = Promise.withResolvers<void>();
    emulator.world.onWrite = () => created.resolve();
    const first = next();
    const ended = watch.untilStopped();
    await created.promise;
    stop.abort('SIGTERM');
    await clock.pass(24_999);
    expect(watch.status).toMatchObject({ running: true, ending: true });
    await clock.pass(1);
    expect(await first).toMatchObject({
      result: expect.stringMatching(/interrupted|failed/),
      applied: [{ result: { status: 'failed' } }],
    });
    expect(await ended).toBe(false);
  });
});
