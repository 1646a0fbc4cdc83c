/** Whether a variable of this name can decide what later commands run. */
export const isPowerfulName = (name: string): boolean => isPowerful(`${name}=import`);

/** Assignments that decide what later commands run. */
export function isPowerful(assignment: string): boolean {
  const name = assignment.slice(0, assignment.indexOf('=')).replace(/\+$/, '');
  const value = assignment.slice(assignment.indexOf('=') + 1);
  if (name === 'NODE_OPTIONS') return /require|import|loader|eval|-r/.test(value);
  return (
    POWERFUL.has(name) ||
    /^(?:LD_|DYLD_|BASH_|GIT_CONFIG|GIT_EXEC|GIT_EXTERNAL|GIT_TEMPLATE|npm_config_)/i.test(name) ||
    /(?:EDITOR|PAGER|COMMAND|ASKPASS|_SSH|_RSH|RUSTC|_WRAPPER|_RUNNER|_LINKER)$/.test(name)
  );
}

const POWERFUL = new Set(
  `PATH IFS ENV SHELL SHELLOPTS BASHOPTS PS0 PS1 PS2 PS3 PS4 CDPATH FPATH ZDOTDIR POSIXLY_CORRECT
   MAKEFLAGS GNUMAKEFLAGS MAKEFILES TAR_OPTIONS GOFLAGS PERL5OPT PERL5DB PERL5LIB RUBYOPT RUBYLIB
   PYTHONSTARTUP PYTHONPATH PYTHONHOME JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS
   LESSOPEN LESSCLOSE BROWSER VISUAL`.split(/\s+/),
);
