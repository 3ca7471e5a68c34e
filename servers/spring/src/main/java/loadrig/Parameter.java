package loadrig;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** A query parameter: a whole number from 0 to `maximum`. Reads and refuses as servers/work.py does. */
record Parameter(String name, int initial, int maximum) {
    private static final int MOST_DIGITS = 12;
    private static final int MOST_SHOWN = 40;

    /** The value that a query string gives the one parameter of `path`, which is null where it takes none. */
    static int parse(String path, Parameter parameter, String query) throws Refusal {
        if (query == null || query.isEmpty()) {
            return parameter == null ? 0 : parameter.initial;
        }
        if (parameter == null) {
            throw new Refusal(400, path + " accepts no parameters");
        }
        List<String[]> pairs = pairs(query);
        if (pairs.size() != 1 || !pairs.get(0)[0].equals(parameter.name)) {
            throw new Refusal(400, path + " accepts " + parameter.accepted() + ", once, and nothing else");
        }
        String text = pairs.get(0)[1];
        if (text.matches("[0-9]{1," + MOST_DIGITS + "}") && Long.parseLong(text) <= parameter.maximum) {
            return Integer.parseInt(text);
        }
        throw new Refusal(400, path + " accepts " + parameter.accepted() + ", not " + quoted(text));
    }

    private String accepted() {
        return name + ", a whole number from 0 to " + maximum + " (default " + initial + ")";
    }

    private static List<String[]> pairs(String query) {
        var pairs = new ArrayList<String[]>();
        for (String pair : query.split("&")) {
            if (!pair.isEmpty()) {
                String[] parts = pair.split("=", 2);
                pairs.add(new String[] {decoded(parts[0]), parts.length == 1 ? "" : decoded(parts[1])});
            }
        }
        return pairs;
    }

    /** As a form encodes it; unlike URLDecoder it leaves a stray percent sign as it is. */
    private static String decoded(String text) {
        var bytes = new ByteArrayOutputStream();
        for (int at = 0; at < text.length(); at++) {
            char character = text.charAt(at);
            boolean escape = character == '%'
                    && at + 2 < text.length()
                    && HexFormat.isHexDigit(text.charAt(at + 1))
                    && HexFormat.isHexDigit(text.charAt(at + 2));
            if (escape) {
                bytes.write(HexFormat.fromHexDigits(text, at + 1, at + 3));
                at += 2;
            } else {
                bytes.writeBytes((character == '+' ? " " : String.valueOf(character)).getBytes(StandardCharsets.UTF_8));
            }
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** The beginning of a text as Python's ascii() writes it: what an answer repeats must stay on one line. */
    private static String quoted(String text) {
        String quote = text.contains("'") && !text.contains("\"") ? "\"" : "'";
        var quoted = new StringBuilder(quote);
        text.codePoints().limit(MOST_SHOWN).forEach(point -> quoted.append(escaped(point, quote.charAt(0))));
        return quoted.append(quote).toString();
    }

    private static String escaped(int point, char quote) {
        return switch (point) {
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            default -> {
                if (point == '\\' || point == quote) {
                    yield "\\" + (char) point;
                }
                if (point >= ' ' && point < 0x7f) {
                    yield String.valueOf((char) point);
                }
                yield String.format(point > 0xffff ? "\\U%08x" : point > 0xff ? "\\u%04x" : "\\x%02x", point);
            }
        };
    }
}
