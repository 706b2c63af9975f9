// A plugin of TypeDoc: a document is called what its heading says, not what its file is called.

import { Converter } from 'typedoc';

const HEADING = /(?<=^|\n)# (.+)\n/;

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const document of project.documents ?? []) {
      const { text } = document.content.find((part) => HEADING.test(part.text));
      document.name = HEADING.exec(text)[1];
    }
  });
}
