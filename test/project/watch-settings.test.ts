import { describe, expect, it } from 'vitest';
import { InvalidProject } from '../../src/project/invalid-project.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { lineOf, PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';

async function load(more: string) {
  using folder = new TemporaryProject({ 'voxform.yaml': PLAIN_PROJECT + more });
  return await loadProject({ cwd: folder.root, env: {} });
}

async function problemsOf(more: string): Promise<string[]> {
  try {
    await load(more);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidProject)) throw error;
    return error.diagnostics.map((each) => lineOf(each).replace(/^voxform.yaml:\d+:\d+ /, ''));
  }
}

const hook = (text: string): string => `notify:\n  - ${text}\n`;

describe('watch settings of a project file', () => {
  it('have windows, in UTC if no time zone is named', async () => {
    const { windows } = await load(
      'watch: { windows: [{ cron: "0 22 * * 1-5", time_zone: Europe/Berlin, duration: 6h }, { cron: "@daily", duration: 90s }] }\n',
    );
    expect(windows).toEqual([
      { cron: '0 22 * * 1-5', timeZone: 'Europe/Berlin', seconds: 21_600 },
      { cron: '@daily', timeZone: 'UTC', seconds: 90 },
    ]);
  });

  it('have webhooks, which receive all events by default', async () => {
    const { webhooks } = await load(`notify:
  - url: https://hooks.example.com/a
  - url: { $secret: HOOK }
    secret_header: { name: X-Token, value: { $env: TOKEN } }
    on: [drift]
    template: { text: "{{workspace}}: {{ text }}", n: 1 }
`);
    expect(webhooks).toEqual([
      {
        url: 'https://hooks.example.com/a',
        on: ['changes', 'failure', 'drift'],
      },
      {
        url: { $secret: 'HOOK' },
        secret_header: { name: 'X-Token', value: { $env: 'TOKEN' } },
        on: ['drift'],
        template: { text: '{{workspace}}: {{ text }}', n: 1 },
      },
    ]);
  });

  it.each([
    [
      'pull_requests: { title: "{project} {worksapce}" }\n',
      'pull_requests.title bad-format title: unknown placeholder {worksapce}; did you mean "workspace"?',
    ],
    [
      'pull_requests: { branch: "{projcet}/{workspace}" }\n',
      'pull_requests.branch bad-format branch: unknown placeholder {projcet}; did you mean "project"?',
    ],
    ['watch: { window: [] }\n', 'watch.window unknown-field unknown field "window"; did you mean "windows"?'],
    [
      'watch: { windows: [{ cron: "every night", duration: 6h }] }\n',
      'watch.windows[0].cron bad-format cron: expected minute, hour, day, month and weekday, such as "0 22 * * 1-5"',
    ],
    [
      'watch: { windows: [{ cron: "0 0 22 * * 1", duration: 6h }] }\n',
      'watch.windows[0].cron bad-format cron: expected minute, hour, day, month and weekday, such as "0 22 * * 1-5"',
    ],
    [
      'watch: { windows: [{ cron: "0 0 31 2 *", duration: 6h }] }\n',
      'watch.windows[0].cron bad-format cron: the expression matches no date',
    ],
    [
      'watch: { windows: [{ cron: "@daily", time_zone: Berlin, duration: 6h }] }\n',
      'watch.windows[0].time_zone bad-format time_zone: expected a time zone name, such as Europe/Berlin',
    ],
    [
      'watch: { windows: [{ cron: "@daily", duration: 6 hours }] }\n',
      'watch.windows[0].duration bad-format duration: expected a duration such as 30m or 6h, got "6 hours"',
    ],
    [
      'watch: { windows: [{ cron: "@daily", duration: 0s }] }\n',
      'watch.windows[0].duration bad-format duration: expected more than 0',
    ],
    [
      hook('{ url: "ftp://x.example" }'),
      'notify[0].url bad-format url: expected an http or https URL, { $env: NAME } or { $secret: NAME }, got "ftp://x.example"',
    ],
    [
      hook('{ url: "https://x.example", secret_header: { name: Authorization, value: plain } }'),
      'notify[0].secret_header.value wrong-type value: must not be in the project file as plain text; use { $secret: NAME } or { $env: NAME }',
    ],
    [
      hook('{ url: "https://x.example", secret_header: { name: "A B", value: { $env: X } } }'),
      'notify[0].secret_header.name bad-format name: expected a header name, got "A B"',
    ],
    [
      hook('{ url: "https://x.example", on: [change] }'),
      'notify[0].on[0] not-allowed on[0] must be one of "changes", "failure", "drift", got "change"; did you mean "changes"?',
    ],
    [
      `notify:\n${'  - { url: "https://x.example" }\n'.repeat(21)}`,
      'notify out-of-range notify must be a list of at most 20 items, got 21',
    ],
    [
      hook('{ url: "https://x.example", template: { a: { b: ["{{worspace}}"] } } }'),
      'notify[0].template.a.b[0] bad-format b[0]: unknown placeholder {{worspace}}; did you mean "workspace"?',
    ],
  ])('are refused: %s', async (more, expected) => {
    expect(await problemsOf(more)).toEqual([expected]);
  });
});
