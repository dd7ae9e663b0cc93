// Uploads files with java.net.http, which has no forms of its own: they are written as the HTML standard has it. Prints the
// status and the body of the answer.
//   java Upload.java URL TOKEN DETAILS FILE ..

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

public class Upload {
  static final String BOUNDARY = "a-boundary-of-java";

  public static void main(String[] args) throws Exception {
    List<HttpRequest.BodyPublisher> body = new ArrayList<>();
    body.add(text("--" + BOUNDARY + "\r\nContent-Disposition: form-data; name=\"details\"\r\n\r\n" + args[2]));
    for (int i = 3; i < args.length; i++) {
      Path file = Path.of(args[i]);
      String name = file.getFileName().toString().replace("\"", "%22").replace("\n", "%0A").replace("\r", "%0D");
      body.add(text("\r\n--" + BOUNDARY + "\r\nContent-Disposition: form-data; name=\"dataFile\"; filename=\"" + name
          + "\"\r\nContent-Type: application/octet-stream\r\n\r\n"));
      body.add(HttpRequest.BodyPublishers.ofFile(file));
    }
    body.add(text("\r\n--" + BOUNDARY + "--\r\n"));
    HttpRequest request = HttpRequest.newBuilder(URI.create(args[0]))
        .version(HttpClient.Version.HTTP_1_1)
        .header("Authorization", "Bearer " + args[1])
        .header("Content-Type", "multipart/form-data; boundary=" + BOUNDARY)
        .POST(HttpRequest.BodyPublishers.concat(body.toArray(new HttpRequest.BodyPublisher[0])))
        .build();
    HttpResponse<String> answer = HttpClient.newHttpClient()
        .send(request, HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
    System.out.println(answer.statusCode() + " " + answer.body());
  }

  static HttpRequest.BodyPublisher text(String text) {
    return HttpRequest.BodyPublishers.ofString(text, StandardCharsets.UTF_8);
  }
}
