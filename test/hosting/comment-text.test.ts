import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commentText, markerOf, withoutQuickActions } from '../../src/hosting/comment-text.ts';

const marker = markerOf('.', 'staging');
const footer = '<sub>Plan of commit 0123456.</sub>';

describe('comment', () => {
  it('is found by its project and workspace, regardless of their names', () => {
    const name = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(name, name, (project, workspace) => {
        const text = markerOf(project, workspace);
        expect(text).toMatch(/^<!-- voxform plan [^>\n]* -->$/);
        if (project !== workspace) expect(text).not.toBe(markerOf(workspace, project));
      }),
    );
  });

  it('has the complete text if it fits', () => {
    const text = commentText({ marker, text: 'The plan.\n', footer, limit: 1000 });
    expect(text).toBe(`${marker}\nThe plan.\n\n${footer}\n`);
  });

  it('is never longer than allowed, and closes blocks that a truncation leaves open', () => {
    const line = fc.constantFrom('<details>', '</details>', '```diff', '```', '- a', 'text 🎧', '````');
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 60, maxLength: 200 }),
        fc.integer({ min: 600, max: 900 }),
        (lines, limit) => {
          const text = commentText({ marker, text: lines.join('\n').repeat(4), footer, limit });
          expect(text.length).toBeLessThanOrEqual(limit);
          expect(text.isWellFormed()).toBe(true);
          expect(text.startsWith(marker)).toBe(true);
          expect(text.endsWith(`${footer}\n`)).toBe(true);
        },
      ),
    );
    const open = `<details>\n\n\`\`\`\`diff\n${'+ a word\n'.repeat(200)}\`\`\`\`\n\n</details>\n`;
    const cut = commentText({ marker, text: open, footer, limit: 1000 });
    expect(cut).toMatch(/\+ a word\n````\n\n<\/details>\n\n_Truncated: /);
  });
});

describe('note for GitLab', () => {
  it.each([
    ['/merge', '&#47;merge', 'a command'],
    ['  /close\nText', '  &#47;close\nText', 'a command after spaces'],
    ['```\n/merge\n```\n/merge', '```\n/merge\n```\n&#47;merge', 'code is none, and what follows it is'],
    ['~~~~\n```\n/merge\n~~~~', '~~~~\n```\n/merge\n~~~~', 'a fence within a fence'],
    ['a /merge', 'a /merge', 'within a line it is a word'],
  ])('changes %j to %j: %s', (text, expected) => {
    expect(withoutQuickActions(text)).toBe(expected);
  });
});
