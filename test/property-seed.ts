import fc from 'fast-check';

/*
 * Property tests use the same cases in every run, so that unchanged code keeps passing; `SEED=random npm test` draws
 * others, and `SEED=123 npm test` repeats those of a failure, which prints its seed.
 */
const given = process.env.SEED;
const seed = given === 'random' ? Date.now() & 0x7fffffff : Number(given ?? 20261121);
fc.configureGlobal({ seed });
