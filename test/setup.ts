import { registerHooks } from 'node:module';
import fc from 'fast-check';

// The same cases in every run, so that a red suite means a change. To look for new ones: FC_SEED=random npm test.
const seed = process.env['FC_SEED'];
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed ?? 1) });

// Our sources are found by the condition `source`. Packages that the MCP client uses have it too, for TypeScript of
// theirs, which Node runs nowhere below node_modules: for them it does not count.
const known = globalThis as { reveilleWithoutSource?: boolean };
if (!known.reveilleWithoutSource) {
  known.reveilleWithoutSource = true;
  registerHooks({
    resolve: (specifier, context, next) =>
      next(
        specifier,
        /^eventsource\b/.test(specifier)
          ? { ...context, conditions: context.conditions.filter((condition) => condition !== 'source') }
          : context,
      ),
  });
}
