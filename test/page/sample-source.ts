import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument, Violation } from '../../src/engine/plan/plan-document.ts';
import type { Freeze } from '../../src/fleet/rows/freeze-rows.ts';
import type { PullRow, ShownPullPlan } from '../../src/fleet/rows/pull-rows.ts';
import type { WorkspaceStatus } from '../../src/operator/workspace-status.ts';
import { impactSections } from '../../src/output/html/impact-html.ts';
import type {
  ActionRequest,
  Freezing,
  ListQuery,
  PageSource,
  PullPages,
  RunDetail,
  WorkspaceDetail,
  WorkspaceRow,
} from '../../src/page/page-data.ts';
import { resourceDetail } from '../../src/page/resource-detail.ts';
import { detailOfPastRun, plannedIn } from '../../src/page/run-details.ts';
import { resourcesOf } from '../../src/page/workspace-detail.ts';
import { UserError } from '../../src/problems/user-error.ts';
import type { PastRun } from '../../src/runs/past-runs.ts';
import type { ResourceEntry } from '../../src/state/state-document.ts';
import { sampleImpact } from '../output/sample-impact.ts';
import { richPlan } from '../output/sample-plan.ts';

export const NOW = new Date('2030-01-02T12:00:00Z');

const at = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);

const violation: Violation = {
  rule: 'calls-end',
  policy_file: 'policies/calls.yaml',
  id: '0123456789abcdef',
  severity: 'deny',
  address: 'Agent/support-line',
  message: 'Calls must end after half an hour.',
  source: { file: 'manifests/agents.yaml', line: 40, column: 7 },
};

/** Policy violations, some of them waived. */
const violations: readonly Violation[] = [
  violation,
  { ...violation, address: 'Agent/billing' },
  { ...violation, policy_file: 'voxform.yaml', message: 'Calls must end.', waived: 'a load test' },
  { ...violation, rule: 'no-friday', severity: 'warn', message: 'Nobody is here on Friday.' },
];

/** A run whose history names the waived rules. */
const pastRun: PastRun = {
  run: 'run-2',
  command: 'apply',
  who: 'ann@laptop',
  host: 'laptop',
  voxform_version: '0.1.0',
  began: at(90).toISOString(),
  ended: at(89).toISOString(),
  result: 'done',
  lifted: ['large_change'],
  waived: [
    {
      rule: 'calls-end',
      policy_file: 'policies/calls.yaml',
      because: 'a load test',
      addresses: ['Agent/support-line'],
    },
  ],
  resources: [{ address: 'Agent/support-line', action: 'update', id: '01JAGENT', paths: ['name'], result: 'done' }],
};
const waivedRun = detailOfPastRun(pastRun);

/** Values of each form that the page of a resource shows. */
const sampleEntry: ResourceEntry = {
  id: '01JAGENT',
  recorded: {
    name: 'Support <script>window.ran=1</script>',
    inbound_agent_id: '01JAGENT',
    secret: { $fingerprint: 'f1' },
    'llm_config.model': 'gpt-4o',
    'llm_config.tools': [
      {
        type: 'transfer',
        to: '+4915112345',
        when: 'when the caller asks for a person',
        headers: { key: { $fingerprint: 'f2' } },
      },
    ],
    'prompt_config.prompt': Array.from({ length: 40 }, (_, line) => `Line ${line} of <b>the prompt</b>.`).join('\n'),
    'tts_config.voice': `voice-${'of-a-long-name-'.repeat(20)}`,
    'tts_config.emotion': null,
  },
  observed: { 'llm_config.model': 'GPT-4o' },
  unobserved: ['tts_config.voice'],
  not_applied: ['tts_config.emotion'],
};

/** A run that left its plan for approval. */
const plannedRun: RunDetail = {
  id: 'run-3',
  began: at(200),
  seconds: 0.8,
  result: 'planned',
  command: 'fleet',
  user: undefined,
  askedBy: undefined,
  summary: '2 to create, 2 to update',
  plan: 'd7b1be51bf3c',
  planState: 'waiting',
  facts: [['Mode', 'approve']],
  problems: [],
  resources: [...plannedIn(richPlan)],
  more: 0,
};

const asked = { askedAt: at(5), askedBy: 'ann' };

/** In the order of the sample's workspaces. */
const statuses: readonly WorkspaceStatus[] = [
  'in-sync',
  'waiting',
  'failed',
  'invalid',
  'drifted',
  'pending',
  'stale',
  'paused',
  'vanished',
  'never-run',
];

/** The other parts of a workspace with each status. */
const differing: Partial<Record<WorkspaceStatus, Partial<WorkspaceDetail>>> = {
  invalid: {
    problems: [
      {
        heading: 'The newest manifests are invalid; the last valid ones are used',
        lines: ['manifests/agents.yaml:11:3 unknown field "promt_config"; did you mean "prompt_config"?'],
      },
    ],
    running: true,
  },
  stale: { stateProblem: 'the state of another version of voxform cannot be read' },
  paused: {
    nextRun: undefined,
    held: 'changes: 2 to update; the workspace is paused',
    actions: ['resume', 'close-orphan'],
  },
  'never-run': {
    remaining: undefined,
    saved: undefined,
    nextRun: undefined,
    resources: [],
    orphans: [],
    runs: [],
    actions: ['run', 'pause'],
  },
};

/** A pull request of the sample. */
const sampleRequest: PullRow = {
  source: 'voices',
  number: 41,
  url: 'https://github.example.com/acme/voices/pull/41',
  title: `Warmer <b>greeting</b> @everyone ${'very '.repeat(30)}long`,
  state: 'open',
  author: 'ann',
  base: 'main',
  branch: 'warm/שלום',
  head: '7d81c3a52e0f4b6a8d9c1e2f3a4b5c6d7e8f9a0b',
  isFork: false,
  mergedAs: undefined,
  plannedHead: '7d81c3a52e0f4b6a8d9c1e2f3a4b5c6d7e8f9a0b',
  plannedAt: new Date('2030-01-02T11:58:00Z'),
  since: new Date('2030-01-02T09:00:00Z'),
  failures: 0,
  problem: undefined,
};

function sampleRequestPlans({ plan, rows }: SampleSource): readonly ShownPullPlan[] {
  const none = { digest: undefined, plan: undefined, notes: [], madeAt: NOW, outcome: undefined };
  const [first = '', second = ''] = rows.map(({ address }) => address);
  return [
    {
      ...none,
      address: first,
      result: 'changes',
      digest: 'd7b1be51bf3c0123456789ab',
      plan: JSON.parse(JSON.stringify(withDigest(plan))),
      notes: ['main has newer changes to this project, which this plan does not contain.'],
      outcome: 'The merged commit has 0 of 1 required review.',
    },
    {
      ...none,
      address: second,
      result: 'invalid',
      problem: { message: 'the manifests are not valid', places: ['manifests/a.yaml:4:3  unknown field "<img>"'] },
    },
    {
      ...none,
      address: 'voices/clients/added:production',
      result: 'new',
      notes: ['3 resources: Agent/a, Agent/b, Agent/c'],
    },
  ];
}

export class SampleSource implements PageSource {
  readonly title = 'fleet';
  readonly rows: WorkspaceRow[];
  readonly acted: ActionRequest[] = [];
  readonly plan: PlanDocument;
  revision = 1;
  /** The name of the only workspace, once it is known. */
  single: string | undefined;
  /** The id of the waiting plan. */
  waiting = 'plan-1';
  /** Pull requests, with plans of hostile and long names. */
  pulls: PullPages | undefined = {
    list: async () => ({
      pulls: [sampleRequest, { ...sampleRequest, number: 40, state: 'merged' as const }].map((pull) => ({
        ...pull,
        status: 'planned' as const,
        since: pull.since.toISOString(),
        problem: null,
        workspaces: sampleRequestPlans(this).map(({ address, result }) => ({ address, result, outcome: null })),
      })),
      problems: [{ source: 'other', message: 'no permission for acme/other (403)', since: at(20).toISOString() }],
    }),
    one: async (_, number) => (number === 41 ? { pull: sampleRequest, plans: sampleRequestPlans(this) } : undefined),
  };

  freeze: Freeze | undefined;
  readonly freezing: Freezing = {
    current: async () => this.freeze,
    act: async (action, decision) => {
      if ((action === 'freeze') === (this.freeze !== undefined)) throw new UserError('Already done.');
      this.freeze = action === 'freeze' ? { at: NOW.toISOString(), ...decision } : undefined;
      this.revision++;
    },
  };

  constructor({ count = 3, plan = { ...richPlan, violations } as PlanDocument, names = [] as readonly string[] } = {}) {
    this.plan = plan;
    this.rows = Array.from({ length: count }, (_, index) => rowOf(index, names[index]));
  }

  only(): string | undefined {
    return this.single;
  }

  async version(): Promise<string> {
    return String(this.revision);
  }

  async overview() {
    const counts = new Map<WorkspaceStatus, number>();
    for (const { status } of this.rows) counts.set(status, (counts.get(status) ?? 0) + 1);
    const some = (...wanted: WorkspaceStatus[]) =>
      wanted.flatMap((status) => {
        const all = this.rows.filter((row) => row.status === status);
        const rows = all.slice(0, 5);
        return all.length === 0
          ? []
          : [{ filter: { status }, rows, found: all.length, isTruncated: rows.length < all.length }];
      });
    return {
      counts,
      attention: some('failed', 'invalid', 'waiting', 'drifted'),
      stale: some('stale'),
      broken: this.rows.length === 0 ? [] : [{ project: 'voices/clients/nobroken', problem: 'no: manifest' }],
      trends: [
        { name: 'runs', counts: Array.from({ length: 24 }, (_, hour) => 1000 + 90 * (hour % 7)) },
        {
          name: 'failed',
          counts: Array.from({ length: 24 }, (_, hour) => (hour === 20 ? 30 : hour % 3)),
        },
        { name: 'drifted', counts: Array(24).fill(0) },
      ] as const,
      freezes: [{ at: at(90), by: '<b>ann', because: '<img src=x> \u202e', endedAt: at(60), endedBy: 'bob' }] as const,
      facts: [['Oldest check', at(200)] as const, ['Processes', '2 alive'] as const],
    };
  }

  async search(text: string) {
    const found = this.rows.filter(({ address }) => address.toLowerCase().includes(text.toLowerCase())).slice(0, 60);
    const hits = found.flatMap(({ address, status }, index) => [
      { address, status, resource: undefined, match: address },
      ...(index === 0 ? [{ address, status, resource: 'PhoneNumber/hotline', match: '4930123456' }] : []),
    ]);
    return { hits, isTruncated: hits.length > 50 };
  }

  async workspaces({ status, q = '', after = '', page, limit }: ListQuery) {
    const fitting = this.rows.filter(
      (row) => (status === undefined || row.status === status) && row.address.includes(q),
    );
    return {
      rows: fitting.filter(({ address }) => address > after).slice((page - 1) * limit, page * limit),
      found: fitting.length,
      total: this.rows.length,
      sources: ['voices', 'others'],
    };
  }

  async workspace(address: string, wanted?: string): Promise<WorkspaceDetail | undefined> {
    const row = this.rows.find((each) => each.address === address);
    if (row === undefined) return undefined;
    const detail = { ...this.#detail(row), ...differing[row.status] };
    const planned = detail.remaining?.resources.find((each) => each.address === wanted);
    if (wanted === undefined || planned === undefined) return detail;
    const [entry, names] = [planned.id === null ? undefined : sampleEntry, { '01JAGENT': 'Agent/support-line' }];
    return {
      ...detail,
      resource: resourceDetail({ address: wanted, entry, planned, names, storedRuns: [], pastRuns: [pastRun] }),
    };
  }

  #detail(row: WorkspaceRow): WorkspaceDetail {
    return {
      ...row,
      shown: shownOf(row, this.waiting),
      facts: [
        ['Workspace', this.plan.workspace_id],
        ['Platform', this.plan.base_url],
      ],
      running: false,
      nextRun: at(-3),
      problems: row.status === 'failed' ? [{ heading: 'The last run failed', lines: [row.summary] }] : [],
      held: undefined,
      resources: resourcesOf(undefined, this.plan, { status: row.status, last: {} }),
      remaining: this.plan,
      saved: { id: this.waiting, madeAt: at(30), plan: this.plan },
      selection: undefined,
      dashboard: { Webhook: 'https://app.example.com/webhooks/{id}', Agent: 'https://app.example.com/agents/{id}' },
      files: 'https://github.com/acme/voices/blob/7d81c3a52e0f4b6a8d9c1e2f3a4b5c6d7e8f9a0b/{file}#L{line}',
      orphans: [
        {
          kind: 'Webhook',
          id: '01JORPHAN',
          address: 'Webhook/old',
          reason: 'replaced',
          since: at(900).toISOString(),
        },
      ],
      runs: [runOf('run-1', row.summary), waivedRun, plannedRun],
      stateProblem: undefined,
      impacts: new Map([
        ['Agent/support-line', { ...asked, html: impactSections(sampleImpact()).text, problem: undefined }],
        ['Agent/billing', { ...asked, html: undefined, problem: undefined }],
        ['Agent/other', { ...asked, html: undefined, problem: 'Agent/other was never published' }],
      ]),
      actions: ['run', 'approve', 'reject', 'pause', 'resume', 'close-orphan', 'compare-calls'],
    };
  }

  async run(_: string, id: string): Promise<RunDetail | undefined> {
    if (id === waivedRun.id) return waivedRun;
    if (id === plannedRun.id) return plannedRun;
    return id === 'run-1' ? runOf(id, 'the platform answered 503') : undefined;
  }

  async act(request: ActionRequest): Promise<void> {
    if (request.action === 'approve' && request.subject !== this.waiting) {
      throw new UserError('This plan no longer waits.');
    }
    this.acted.push(request);
  }
}

function shownOf({ address, status, mode, isOld }: WorkspaceRow, waiting: string): WorkspaceDetail['shown'] {
  const [since, none] = [at(30).toISOString(), null];
  return {
    ...{
      address,
      status,
      since,
      mode,
      isOld,
      intervalSeconds: 60,
      workspaceId: 'ws',
      baseUrl: 'https://api.example.com',
    },
    ...{
      checkedAt: since,
      dueAt: since,
      asked: none,
      failures: 0,
      vanishedAt: none,
      commit: '1f2e3d4c',
      problem: none,
    },
    paused: status === 'paused' ? { at: since, by: 'ann', because: 'a test' } : none,
    plan: { id: waiting, state: 'waiting', madeAt: since, by: none },
    rejected: none,
  };
}

function rowOf(index: number, name?: string): WorkspaceRow {
  const status = statuses[index % statuses.length] ?? 'in-sync';
  return {
    address: name ?? `voices/clients/client-${String(index).padStart(5, '0')}:production`,
    status,
    since: at(index % 600),
    checkedAt: status === 'never-run' ? undefined : at(index % 7),
    isOld: status === 'stale' || status === 'failed' || status === 'paused',
    summary:
      status === 'in-sync'
        ? ''
        : status === 'failed'
          ? 'GET /api/v1/numbers?per_page=100: 127.0.0.1:4799 refused the connection'
          : '2 to update, 1 manual',
    source: 'voices',
    mode: 'approve',
  };
}

function runOf(id: string, summary: string): RunDetail {
  return {
    id,
    began: at(40),
    seconds: 3.2,
    result: 'failed',
    command: 'fleet',
    user: 'voxform@host-1',
    askedBy: 'u'.repeat(255),
    summary,
    facts: [['Commit', '1f2e3d4c']],
    problems: [summary],
    resources: [
      { address: 'Agent/support-line', action: 'update', result: 'failed', id: '01JAGENT', detail: summary },
      { address: 'Agent/billing', action: 'update', result: 'done', id: '01JAGENT2', detail: 'name' },
    ],
    more: 0,
  };
}
