import { kinds, lookups } from '../kinds/index.ts';
import { type Topic, topicsOf } from '../output/explain/topics.ts';
import { lazy } from '../values/lazy.ts';

/** The topics of `voxform explain`. */
export const topics = lazy((): { readonly all: readonly Topic[]; readonly byPath: ReadonlyMap<string, Topic> } => {
  const all = topicsOf(kinds.values(), lookups.values());
  return { all, byPath: new Map(all.map((topic) => [topic.path, topic])) };
});
