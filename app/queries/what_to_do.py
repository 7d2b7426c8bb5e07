"""What is to be done about an alert, as its kind says it in the language of whoever reads it."""

# Of a kind `k` for a reader `m`; the language is the first part of a locale such as es, es-MX or es_ES.
WHAT_TO_DO = """
  coalesce(k.what_to_do_in ->> lower(split_part(replace(m.locale, '-', '_'), '_', 1)), k.what_to_do) as what_to_do"""
