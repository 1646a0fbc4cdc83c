import { registerHooks } from 'node:module';

// Our sources are found by the condition `source`. Two packages that the MCP client uses have it too, for TypeScript of
// theirs, which Node runs nowhere below node_modules: for them it does not count.
registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier,
      /^eventsource\b/.test(specifier)
        ? { ...context, conditions: context.conditions.filter((condition) => condition !== 'source') }
        : context,
    ),
});
