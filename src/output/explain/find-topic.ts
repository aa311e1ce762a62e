import { meant, nearest } from '../../problems/suggest.ts';
import type { Topic } from './topics.ts';

type FoundTopic =
  | { readonly topic: Topic }
  /** `; did you mean "x"?`, or nothing. */
  | { readonly suggestion: string };

/**
 * The topic that people mean by a path. What a manifest has around a field may be written or left out, capitals do not count,
 * a value form needs no dollar, which shells take for a variable, and a setting of the project file needs no `project`.
 */
export function findTopic(topics: readonly Topic[], asked: string): FoundTopic {
  const path = asked
    .replace(/^voxform\.ya?ml(?=\.|$)/, 'project')
    .replace(/^([A-Za-z]+)\.spec(?=\.|$)/, '$1')
    .replace(/^[A-Za-z]+\.(?=metadata(\.|$))/, '');
  const topic = named(topics, path) ?? named(topics, `$${path}`) ?? named(topics, `project.${path}`);
  return topic === undefined ? { suggestion: suggestionFor(topics, path) } : { topic };
}

function named(topics: readonly Topic[], path: string): Topic | undefined {
  return topics.find((topic) => same(topic.path, path));
}

/** True where the names that people choose stand in for any other. */
function same(path: string, asked: string): boolean {
  const [own, given] = [path.toLowerCase().split('.'), asked.toLowerCase().split('.')];
  return (
    own.length === given.length &&
    own.every((key, index) => key === given[index] || (key === '<name>' && index > 0))
  );
}

function suggestionFor(topics: readonly Topic[], asked: string): string {
  const last = asked.slice(asked.lastIndexOf('.') + 1).toLowerCase();
  const [root] = asked.toLowerCase().split('.');
  const elsewhere = topics.filter(({ path }) => path.toLowerCase().endsWith(`.${last}`));
  const here = elsewhere.filter(({ path }) => path.toLowerCase().split('.')[0] === root);
  const near = here.length > 0 ? here : elsewhere;
  const best = near.length > 0 ? near.map(({ path }) => path) : nearestPath(topics, asked);
  return meant(best.map((path) => `"${path}"`));
}

function nearestPath(topics: readonly Topic[], asked: string): string[] {
  const siblings = topics.filter(({ path }) => path.split('.').length === asked.split('.').length);
  const found =
    nearest(
      asked,
      siblings.map(({ path }) => path),
    ) ??
    nearest(
      asked,
      topics.map(({ path }) => path),
    );
  return found === undefined ? [] : [found];
}
