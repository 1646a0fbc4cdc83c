import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface Props {
  readonly label: string;
  readonly hint?: string;
  readonly children: ComponentChildren;
}

/** What is one step further away. It closes when something was chosen, with Escape, and when one goes elsewhere. */
export function Menu({ label, hint, children }: Props) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => menu.current?.removeAttribute('open');
  // Not when the focus goes nowhere: that is how another window comes to the front.
  useEffect(() => {
    const press = ({ target }: Event): void => {
      if (target instanceof Element && !menu.current?.contains(target)) close();
    };
    addEventListener('pointerdown', press);
    return () => removeEventListener('pointerdown', press);
  }, []);
  return (
    <details
      class="menu"
      ref={menu}
      onToggle={() => {
        if (menu.current?.open) menu.current.querySelector<HTMLElement>('.menu-list :is(a, button)')?.focus();
      }}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget instanceof Element && !menu.current?.contains(relatedTarget)) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current?.open) return;
        event.stopPropagation();
        close();
        menu.current.querySelector('summary')?.focus();
      }}
    >
      <summary class="button" data-key={hint} title={hint ? `Key: ${hint}` : undefined}>
        {label}
      </summary>
      <div class="menu-list" onClick={close}>
        {children}
      </div>
    </details>
  );
}
