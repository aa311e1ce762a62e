import { describe, expect, it } from 'vitest';
import { dashboardTemplate, dashboardUrl, linkHost } from '../../src/project/dashboard-address.ts';

const plain = 'https://app.example.com/agents/{id}';

describe('address of a record in the dashboard', () => {
  it.each([
    { reason: 'an id', template: plain, id: '01J', url: 'https://app.example.com/agents/01J' },
    {
      reason: 'an id with markup, a query and another path',
      template: plain,
      id: `../a?b#c"><script>|)'`,
      url: 'https://app.example.com/agents/..%2Fa%3Fb%23c%22%3E%3Cscript%3E%7C%29%27',
    },
    { reason: 'an id that is a path', template: plain, id: '..', url: 'https://app.example.com/agents' },
    { reason: 'no id', template: plain, id: null, url: 'https://app.example.com/agents' },
    {
      reason: 'no id in a query',
      template: 'http://a.example/x?q={id}',
      id: null,
      url: 'http://a.example/x',
    },
    {
      reason: 'no id after a fragment',
      template: 'http://a.example/#/x/{id}',
      id: null,
      url: 'http://a.example/#/x',
    },
    {
      reason: 'an id twice',
      template: 'http://a.example/{id}?x={id}',
      id: 'b',
      url: 'http://a.example/b?x=b',
    },
    {
      reason: 'a replacement pattern',
      template: plain,
      id: '$&',
      url: 'https://app.example.com/agents/%24%26',
    },
    {
      reason: 'markup',
      template: `${plain}"><b>(|`,
      id: 'a',
      url: 'https://app.example.com/agents/a%22%3E%3Cb%3E%28%7C',
    },
  ])('is built for $reason', ({ template, id, url }) => {
    expect(dashboardTemplate().safeParse(template).success).toBe(true);
    expect(dashboardUrl(template, id)).toBe(url);
    expect(linkHost(url)).toBe(new URL(url).host);
  });

  it.each([
    'javascript:alert("{id}")',
    'data:text/html,{id}',
    'file:///{id}',
    'https://app.example.com/agents',
    'https://{id}.example.com/',
    'https://example.com:{id}/',
    'https://app.example.com@evil.example/{id}',
    'https://{id}@evil.example/',
    '/agents/{id}',
    'https://app.example.com/a b/{id}',
    'https://app.example.com/\u202e{id}',
    'https://app.example.com/\n{id}',
    `https://app.example.com/${'a'.repeat(500)}/{id}`,
  ])('is never built from %j', (template) => {
    expect(dashboardTemplate().safeParse(template).success).toBe(false);
    if (template.length < 500) expect(dashboardUrl(template, 'a')).toBeUndefined();
  });

  it('is not a link if it is not an http address', () => {
    expect(['javascript:alert(1)', 'https://[', '', undefined].map(linkHost)).toEqual(Array(4).fill(undefined));
  });
});
