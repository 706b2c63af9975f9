import type { ComponentChildren } from 'preact';

export interface TableProps {
  /** For readers of the screen. */
  readonly caption: string;
  readonly head: readonly string[];
  /** The first cell names its row. */
  readonly rows: readonly (readonly [name: string, cells: readonly ComponentChildren[]])[];
  readonly nameOf?: (name: string) => ComponentChildren;
}

export function Table({ caption, head, rows, nameOf = (name) => name }: TableProps) {
  return (
    <table class="figures">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {head.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, cells]) => (
          <tr key={name}>
            <th scope="row">{nameOf(name)}</th>
            {cells.map((cell) => (
              <td>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
