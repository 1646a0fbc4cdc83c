import fc from 'fast-check';

// The same cases in every run, so that a red suite means a change. To look for new ones: FC_SEED=random npm test.
const seed = process.env['FC_SEED'];
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed ?? 1) });
